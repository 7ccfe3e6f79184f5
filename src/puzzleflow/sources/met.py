"""The Met's public collection API: object numbers and their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from puzzleflow.core.errors import FormatError
from puzzleflow.sources.fetch import Fetcher

MET_API = "https://collectionapi.metmuseum.org/public/collection/v1"


def is_web_address(text: str) -> bool:
    """Is this something to send a request to?"""
    try:
        return urlsplit(text).scheme in ("http", "https")
    except ValueError:  # a broken [IPv6] host
        return False


@dataclass(frozen=True)
class MetRecord:
    """What we keep of an object's record; texts are as the museum wrote them."""

    object_id: int
    title: str
    artist: str
    date: str
    period: str
    department: str
    culture: str
    medium: str
    dimensions: str
    rights: str
    classification: str
    artist_nationality: str
    begin_year: int | None
    end_year: int | None
    is_public_domain: bool
    image_url: str
    object_url: str

    @classmethod
    def from_api(cls, answer: Any) -> MetRecord:
        """Read the API's JSON of one object."""
        if not isinstance(answer, Mapping) or not isinstance(answer.get("objectID"), int):
            raise FormatError("expected a Met object record with an objectID")

        def text(key: str) -> str:
            value = answer.get(key)
            return " ".join(str(value).split()) if value is not None else ""

        def year(key: str) -> int | None:
            value = answer.get(key)
            return value if isinstance(value, int) and not isinstance(value, bool) else None

        public = answer.get("isPublicDomain") is True
        return cls(
            object_id=answer["objectID"],
            title=text("title"),
            artist=text("artistDisplayName"),
            date=text("objectDate"),
            period=text("period"),
            department=text("department"),
            culture=text("culture"),
            medium=text("medium"),
            dimensions=text("dimensions"),
            rights=text("rightsAndReproduction") or ("Public domain (CC0 1.0)" if public else ""),
            classification=text("classification"),
            artist_nationality=text("artistNationality"),
            begin_year=year("objectBeginDate"),
            end_year=year("objectEndDate"),
            is_public_domain=public,
            image_url=str(answer.get("primaryImage") or "").strip(),
            object_url=text("objectURL"),
        )

    def unsuitable(self) -> str | None:
        """Why the paper's filter leaves this object out, or None."""
        if not self.is_public_domain:
            return "not-public-domain"
        if "fragment" in self.title.lower():
            return "fragment-title"
        if not is_web_address(self.image_url):
            return "no-image"
        return None


class MetClient:
    """Two questions to the API at ``base_url``: which objects, and what about one."""

    def __init__(self, fetch: Fetcher, base_url: str = MET_API) -> None:
        self._fetch = fetch
        self._base_url = base_url.rstrip("/")

    async def object_ids(
        self, *, query: str | None = None, departments: tuple[int, ...] = ()
    ) -> list[int]:
        """Every object number, sorted, each once.

        With ``query`` the API's search is asked for objects that have pictures.
        The lists do not tell which objects are in the public domain: the record does.
        """
        if query is None:
            params = {"departmentIds": "|".join(map(str, departments))} if departments else {}
            return sorted(set(await self._ids("objects", params)))
        found: set[int] = set()
        for department in departments or (None,):
            params = {"hasImages": "true", "q": query}
            if department is not None:
                params["departmentId"] = str(department)
            found.update(await self._ids("search", params))
        return sorted(found)

    async def _ids(self, endpoint: str, params: dict[str, str]) -> list[int]:
        url = f"{self._base_url}/{endpoint}"
        answer = await self._fetch.json(url, params)
        ids = answer.get("objectIDs") if isinstance(answer, Mapping) else None
        if ids is None and isinstance(answer, Mapping) and answer.get("total") == 0:
            return []  # the search's way of saying that nothing was found
        if not isinstance(ids, list) or not all(type(number) is int for number in ids):
            raise FormatError(f"{url}: expected a list of numbers under objectIDs")
        return ids

    async def record(self, object_id: int) -> MetRecord:
        """The record of one object."""
        url = f"{self._base_url}/objects/{object_id}"
        answer = await self._fetch.json(url)
        try:
            record = MetRecord.from_api(answer)
        except FormatError as error:
            raise FormatError(f"{url}: {error}") from error
        if record.object_id != object_id:
            raise FormatError(f"{url}: got the record of object {record.object_id}")
        return record
