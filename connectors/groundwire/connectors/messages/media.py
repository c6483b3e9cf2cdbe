"""Images, sounds and files in messages: what they were, never what they held."""

import re
from collections.abc import Mapping
from typing import Any

from groundwire.connectors.messages.decoding import MEDIA_TOKEN, without_media
from groundwire.scorer import BlobPart, UriPart

__all__ = ["MEDIA_TYPES", "media_in_text", "media_part", "split_media"]

MEDIA_TYPES = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "output_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "output_audio": "audio",
    "audio_url": "audio",
    "video": "video",
    "video_url": "video",
    "input_video": "video",
    "file": "document",
    "input_file": "document",
    "file_url": "document",
    "document": "document",
    "container_upload": "document",
    "media": "unknown",
    "blob": "unknown",
    "uri": "unknown",
    "inlineData": "unknown",
    "inline_data": "unknown",
    "fileData": "unknown",
    "file_data": "unknown",
}
"""Content part types that hold media, and the modality each implies."""
_DATA_URI = re.compile(r"data:([\w.+-]+\\?/[\w.+-]+)[^,]{0,200},", re.IGNORECASE)
_MIME_KEYS = ("media_type", "mime_type", "mimeType", "mediaType", "format")
_PLACE_KEYS = ("url", "uri", "fileUri", "file_uri", "file_id", "fileId", "image_url", "audio_url", "file_url")
_BYTES_KEYS = ("data", "base64", "b64_json", "bytes", "content", "file_data", "image", "audio", "video", "result")
_INNER_KEYS = ("source", "image_url", "input_audio", "inlineData", "inline_data", "fileData", "file_data", "file",
               "audio", "image", "video", "document", "video_url", "audio_url", "file_url")  # fmt: skip


def media_part(part: Mapping[str, Any], *, modality: str = "unknown") -> UriPart | BlobPart:
    """The placeholder of one media part, whichever provider wrote it: its address, or its type and encoded size."""
    mime = _first_text(part, _MIME_KEYS)
    place = _first_text(part, _PLACE_KEYS)
    size = _size(part)
    for key in _INNER_KEYS:
        inner = part.get(key)
        if isinstance(inner, dict):
            mime = mime or _first_text(inner, _MIME_KEYS)
            place = place or _first_text(inner, _PLACE_KEYS)
            size = size or _size(inner)
            for deeper in inner.values():  # OpenInference: image.image.url; Bedrock: image.source.bytes
                if isinstance(deeper, dict):
                    place = place or _first_text(deeper, _PLACE_KEYS)
                    size = size or _size(deeper)
        elif isinstance(inner, str) and (inner.startswith(("http:", "https:", "data:")) or MEDIA_TOKEN.match(inner)):
            place = place or inner
    if isinstance(named := part.get("modality"), str):
        modality = named
    return _placeholder(place, mime=mime, modality=modality, size=size)


def _placeholder(place: str | None, *, mime: str | None, modality: str, size: int | None) -> UriPart | BlobPart:
    if place is not None and (token := MEDIA_TOKEN.search(place)):
        fields = dict(piece.split("=", 1) for piece in token["body"].split("|") if "=" in piece)
        mime = fields.get("type", mime)
        return UriPart(uri=f"langfuse:media/{fields.get('id', '')}", modality=_modality(mime, modality), mime_type=mime)
    if place is not None and (found := _DATA_URI.match(place)):
        mime = found[1].replace("\\", "")
        return BlobPart(modality=_modality(mime, modality), mime_type=mime, size=len(place) - found.end())
    mime = mime if mime is not None and "/" in mime else None
    if place is not None:
        return UriPart(uri=without_media(place)[:2_000], modality=_modality(mime, modality), mime_type=mime)
    return BlobPart(modality=_modality(mime, modality), mime_type=mime, size=size)


def _modality(mime: str | None, modality: str) -> str:
    family = (mime or "").partition("/")[0]
    if family in ("image", "audio", "video"):
        return family
    return "document" if family in ("application", "text") else modality


def _first_text(part: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := part.get(key), str) and value), None)


def _size(part: Mapping[str, Any]) -> int | None:
    return next((len(value) for key in _BYTES_KEYS if isinstance(value := part.get(key), str)), None)


def media_in_text(text: str) -> list[UriPart | BlobPart]:
    """The placeholders of the data URIs and media tokens that stand inside a text."""
    found: list[UriPart | BlobPart] = []
    if "@@@langfuseMedia:" in text:
        found += [
            _placeholder(match[0], mime=None, modality="unknown", size=None) for match in MEDIA_TOKEN.finditer(text)
        ]
    if "ata:" in text or "ATA:" in text:
        for match in _DATA_URI.finditer(text):
            mime = match[1].replace("\\", "")
            found.append(BlobPart(modality=_modality(mime, "unknown"), mime_type=mime))
    return found


def split_media(text: str) -> tuple[str, list[UriPart | BlobPart]]:
    """A text without bytes of media (each is named in brackets where it stood), and the media as placeholders."""
    bare = without_media(text)
    return bare, media_in_text(text) if bare != text else []
