"""Logs as people paste them, made fit to be matched: colours, quotes, JSON's escapes, other languages, broken lines.

A text is hostile: it is cut, and becomes no part of a pattern or a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST = 4_000  # lines from each end: what failed stands at the end of a log, what it was at its beginning
_LONGEST = 2000
_PASTED = 300  # lines: a text of fewer may have been broken by a terminal or a mail
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])|[\x00-\x08\x0e-\x1f\x7f]+")
_QUOTES = str.maketrans(dict.fromkeys("'`´‘’‚‛“”„‟«»‹›「」『』＂＇", '"'))
# What the C library says in other languages (glibc's catalogues), as its English words.
_SAID = {
    "permission denied": (
        "keine berechtigung", "permission non accordée", "permiso denegado", "permesso negato", "permissão negada",
        "許可がありません", "权限不够", "拒绝访问", "отказано в доступе", "brak dostępu", "toegang geweigerd",
    ),
    "no such file or directory": (
        "datei oder verzeichnis nicht gefunden", "aucun fichier ou dossier de ce type",
        "aucun fichier ou répertoire de ce type", "no existe el archivo o el directorio",
        "no existe el fichero o el directorio", "file o directory non esistente", "arquivo ou diretório inexistente",
        "ficheiro ou pasta inexistente", "そのようなファイルやディレクトリはありません", "没有那个文件或目录",
        "нет такого файла или каталога", "nie ma takiego pliku ani katalogu", "bestand of map bestaat niet",
    ),
    "operation not permitted": (
        "die operation ist nicht erlaubt", "vorgang nicht zulässig", "opération non permise", "operación no permitida",
        "operazione non permessa", "operação não permitida", "許可されていない操作です", "不允许的操作",
        "операция не позволена", "operacja niedozwolona",
    ),
    "invalid argument": (
        "das argument ist ungültig", "ungültiges argument", "argument invalide", "argumento inválido",
        "argomento non valido", "無効な引数です", "无效的参数", "недопустимый аргумент", "zły argument",
    ),
    "cannot allocate memory": (
        "nicht genügend hauptspeicher verfügbar", "impossible d\"allouer de la mémoire", "no se pudo asignar memoria",
        "impossibile allocare memoria", "メモリを確保できません", "无法分配内存", "невозможно выделить память",
    ),
    "no space left on device": (
        "auf dem gerät ist kein speicherplatz mehr verfügbar", "aucun espace disponible sur le périphérique",
        "no queda espacio en el dispositivo", "spazio esaurito sul device", "não há espaço disponível no dispositivo",
        "デバイスに空き領域がありません", "设备上没有空间", "на устройстве не осталось свободного места",
    ),
    "connection refused": (
        "verbindungsaufbau abgelehnt", "connexion refusée", "conexión rehusada", "connessione rifiutata",
        "conexão recusada", "接続を拒否されました", "拒绝连接", "в соединении отказано",
    ),
    "segmentation fault": (
        "speicherzugriffsfehler", "erreur de segmentation", "violación de segmento", "errore di segmentazione",
        "falha de segmentação", "段错误", "ошибка сегментирования",
    ),
}  # fmt: skip
_ENGLISH = {there: english for english, others in _SAID.items() for there in others}
_FOREIGN = re.compile("|".join(map(re.escape, _ENGLISH)))


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """Each line as it was written (cut, without codes) and as it is matched: small letters, one kind of quotes."""
    written = _TERMINAL.sub("", text.replace("\\n", "\n").replace('\\"', '"')).splitlines()
    if len(written) > 2 * _MOST:
        written = written[:_MOST] + written[-_MOST:]
    for line in written:
        cut = line[:_LONGEST].strip()
        if cut:
            yield cut, plain(cut)


def plain(line: str) -> str:
    """A line in small letters and English, whatever quotes it has."""
    small = line.lower().translate(_QUOTES)
    return _FOREIGN.sub(lambda found: _ENGLISH[found.group()], small)


def pairs(found: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Each line with what it and the next one say together, of a text that is short enough to have been pasted."""
    pasted = len(found) <= _PASTED
    for place, (written, told) in enumerate(found):
        after = found[place + 1][1] if pasted and place + 1 < len(found) else ""
        yield written, told, f"{told} {after}" if after else ""
