"""The builder's command line: options where a builder knows them, and no value that is nobody's business."""

from __future__ import annotations

from rocenv.render.build_argv import BUILDX, BUILT_IN, CLASSIC, PODMAN, Options, build_argv, proxies_of


def argv(builder: str, options: Options = Options(), **given: object) -> list[str]:  # noqa: B008
    return build_argv("docker", builder, "rocenv/p:1", "/ctx", options, **given)  # type: ignore[arg-type]


def test_the_plugin_is_told_to_keep_or_to_push() -> None:
    assert argv(BUILDX) == ["docker", "buildx", "build", "--load", "--tag=rocenv/p:1", "--file=-", "/ctx"]
    assert "--push" in argv(BUILDX, Options(push=True))
    assert "--load" not in argv(BUILDX, Options(push=True))


def test_each_builder_hears_what_it_knows() -> None:
    plain = Options(progress="plain")
    assert argv(BUILT_IN, plain)[:3] == ["docker", "build", "--progress=plain"]
    assert argv(CLASSIC, plain)[:3] == ["docker", "build", "--force-rm"]
    assert "--format=docker" in argv(PODMAN, plain)
    assert not any("progress" in word for builder in (CLASSIC, PODMAN) for word in argv(builder, plain))


def test_every_option_has_its_word() -> None:
    options = Options(
        no_cache=True, cache_from=("type=registry,ref=r/c",), cache_to=("type=inline",), platform="linux/amd64",
        push=True, progress="plain", sbom=True, provenance=True,
    )  # fmt: skip
    assert argv(BUILDX, options)[3:-3] == [
        "--push", "--no-cache", "--cache-from=type=registry,ref=r/c", "--cache-to=type=inline",
        "--platform=linux/amd64", "--progress=plain", "--sbom=true", "--provenance=mode=max",
    ]  # fmt: skip
    assert options.needs_buildx() == "--cache-to"
    assert Options(no_cache=True, platform="linux/amd64").needs_buildx() is None


def test_secrets_and_proxies_go_by_name() -> None:
    words = argv(BUILDX, secrets={"B": "src=/f", "A": "env=A"}, proxies=("https_proxy", "HTTPS_PROXY"))
    assert words[4:-3] == [
        "--secret=id=A,env=A", "--secret=id=B,src=/f", "--build-arg=https_proxy", "--build-arg=HTTPS_PROXY",
    ]  # fmt: skip


def test_a_proxy_is_set_in_both_spellings() -> None:
    assert proxies_of({"https_proxy": "http://p:1", "NO_PROXY": "a,b", "http_proxy": "", "OTHER": "x"}) == {
        "https_proxy": "http://p:1", "HTTPS_PROXY": "http://p:1", "no_proxy": "a,b", "NO_PROXY": "a,b",
    }  # fmt: skip
