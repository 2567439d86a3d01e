"""A bundle: one file that carries what a project's profiles run on to a machine without a network.

    rocenv/bundle.json       what is in it: profiles, images, and the digest of each file that is no blob
    rocenv/project/…         rocenv.lock and rocenv.yaml
    rocenv/profiles/…        the user's own profiles that the locked ones build on
    rocenv/catalog/…         the catalog's tables
    rocenv/probes/…          the smoke tests
    oci-layout, index.json, blobs/sha256/…    the images, as the OCI image layout has them
    manifest.json            the same once more, in the words that `docker load` has always understood

It is a plain tar of plain files, nothing else: whatever else is found in one is refused.
"""

from __future__ import annotations
