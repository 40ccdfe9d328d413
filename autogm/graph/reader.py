"""Columns of a table, read in batches or at once, from CSV, TSV, Parquet or a dataframe.

Knows how a person would find a row, so that an error can name file, line and column.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autogm.errors import InputError, optional, parsing, show, suggest

__all__ = [
    "TableLike",
    "TableReader",
    "arrow",
    "as_float64",
    "as_ids",
    "as_numpy",
    "as_text",
    "compute",
    "looks_numeric",
    "require_ids",
    "written_integers",
]

TableLike = Any
"""A path, a mapping of columns, or an object with ``__arrow_c_stream__``."""

_NOTHING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"]
"""What a cell without a value says."""
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


class TableReader:
    """Reads the columns that are asked for, and no others."""

    def __init__(self, table: TableLike, *, role: str) -> None:
        self._path: Path | None = None
        self._dialect: _Dialect | None = None
        if isinstance(table, (str, Path)):
            path = self._path = Path(table)
            self.what, self.title = path.name, path.stem
            if _is_parquet(path):
                self.names = _parquet_names(path)
            else:
                self._dialect = _Dialect.of(path)
                self.names = list(self._dialect.names)
                if role == "edges":
                    self._dialect.require_header(path)
                else:
                    self._dialect.require_names(path)
        else:
            self.what, self.title = f"the {role} table", "graph"
            self._data = _as_arrow(table, role)
            self.names = list(self._data.column_names)
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(
                f"{self.what} must name each column once, but {show(twice)} stands twice; rename it"
            )

    def is_padded(self, name: str) -> bool:
        """Whether a column holds numbers with leading zeros, which only text keeps."""
        return self._dialect is not None and name in self._dialect.padded

    @property
    def is_text(self) -> bool:
        """Whether cells are written out, so that their types are a guess."""
        return self._dialect is not None

    def place(self, row: int) -> str:
        """Where a person finds a row (counted from 0)."""
        if self._path is not None and self._dialect is not None:
            before = self._dialect.lines_before_data
            with self._path.open(encoding="utf-8", errors="replace") as file:
                rows = _rows(islice(file, before, None), self._dialect.delimiter)
                for line, _ in islice(rows, row, row + 1):
                    return f"{self.what}, line {before + line}"
        return f"{self.what}, row {row + 1}"

    def require(self, name: str) -> str:
        if name not in self.names:
            raise InputError(
                f"{self.what} has no column {name!r}; it has "
                f"{show(self.names, 12)}{suggest(name, self.names)}"
            )
        return name

    def batches(self, columns: list[str], types: Mapping[str, Any]) -> Iterator[Any]:
        """Record batches of some columns, a few megabytes at a time, texts as plain text."""
        for batch in self._raw_batches(columns, types):
            plain = [_plain_text(column, trim=self.is_text) for column in batch.columns]
            yield arrow().RecordBatch.from_arrays(plain, names=columns)

    def read(self, *, text: Iterable[str] = ()) -> Any:
        """All columns as one Arrow table; numbers as numbers where a whole column is numeric.

        Columns named in ``text`` are read as they are written.
        """
        types = dict.fromkeys(text, arrow().string())
        guessed: list[str] = []
        while True:
            try:
                batches = list(self.batches(self.names, types))
                break
            except arrow().ArrowInvalid as error:
                # A type was guessed from the first rows of a column, and a later cell broke it.
                broken = re.search(r"CSV column #(\d+)", str(error))
                if broken is None or self.names[int(broken[1])] in types:
                    raise
                guessed.append(self.names[int(broken[1])])
                types[guessed[-1]] = arrow().string()
        if not sum(batch.num_rows for batch in batches):
            raise self.no_rows()
        table = arrow().Table.from_batches(batches).combine_chunks()
        for name in guessed:
            at = self.names.index(name)
            table = table.set_column(at, name, _numbers_if_all_are(table.column(name)))
        return table

    def no_rows(self) -> InputError:
        return InputError(f"{self.what} has a header but no rows; add at least one row")

    def _raw_batches(self, columns: list[str], types: Mapping[str, Any]) -> Iterator[Any]:
        if self._path is None:
            yield from self._data.select(columns).to_batches()
        elif self._dialect is None:
            parquet = optional("pyarrow.parquet", extra="search", purpose="reading Parquet")
            with (
                parsing(self._path, "a Parquet file"),
                parquet.ParquetFile(self._path, pre_buffer=False) as file,
            ):
                yield from file.iter_batches(columns=columns)
        else:
            yield from self._text_batches(self._path, self._dialect, columns, types)

    def _text_batches(
        self, path: Path, dialect: _Dialect, columns: list[str], types: Mapping[str, Any]
    ) -> Iterator[Any]:
        arrow_csv = optional("pyarrow.csv", extra="search", purpose="reading tables")
        try:
            with arrow_csv.open_csv(
                path,
                arrow_csv.ReadOptions(
                    skip_rows=dialect.lines_before_data, column_names=list(dialect.names)
                ),
                arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(include_columns=columns, column_types=dict(types)),
            ) as reader:
                for batch in reader:
                    # What is no UTF-8 is taken for bytes.
                    if any(map(arrow().types.is_binary, batch.schema.types)):
                        raise self._no_utf8()
                    yield batch
        except arrow().ArrowInvalid as error:
            message = str(error)
            if "invalid UTF8" in message:
                raise self._no_utf8() from None
            # A cell that is not of its column's type is for the caller to name.
            if "conversion error" in message:
                raise
            if "Empty CSV file" in message:
                raise self.no_rows() from None
            is_ragged = "Expected" in message
            fix = "give every line as many cells as the first" if is_ragged else "mend the file"
            raise InputError(f"{self.what} is not a table: {error}; {fix}") from None

    def _no_utf8(self) -> InputError:
        return InputError(f"{self.what} must be UTF-8, but it is in another encoding; convert it")


@dataclass(frozen=True)
class _Dialect:
    """How a text table is written."""

    delimiter: str
    names: tuple[str, ...]
    lines_before_data: int
    first_cells: tuple[str, ...]
    has_header: bool
    padded: frozenset[str] = frozenset()
    """Columns with a number like 007 near the top: codes, not quantities."""
    first_ids: frozenset[str] = frozenset()
    """What stands in the first two columns near the top."""

    @classmethod
    def of(cls, path: Path) -> _Dialect:
        """Read off the first line; two numbers where names should be are an edge, not a header."""
        _check_text(path)
        is_plain_list = path.suffix.lower() == ".txt"
        before, line = 0, ""
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for line in file:
                if line.strip() and not (is_plain_list and line.startswith("#")):
                    break
                before += 1
            said = re.fullmatch(r"sep=(.)\s*", line)  # how Excel says its delimiter
            if said:
                before, line = before + 1, next(file, "")
            sample = [line, *islice(file, 20_000)]
        if not line.strip() or (is_plain_list and line.startswith("#")):
            raise InputError(f"{path.name} holds no edges; add a line for each")
        line = line.rstrip("\r\n")
        if path.suffix.lower() == ".tsv":
            marks = "\t"
        else:
            marks = said[1] if said else "\t ," if is_plain_list else ",;\t|"
        delimiter = max(marks, key=line.count)
        if delimiter == " " and "  " in line:
            raise InputError(
                f"columns of {path.name} must be separated by one space or a tab, but there are "
                "several spaces; squeeze them"
            )
        rows = [row for _, row in _rows(sample, delimiter)]
        has_header = not all(map(_is_number, rows[0][:2]))
        if is_plain_list:  # names of columns are rare there, and stand above numbers
            has_header &= len(rows) > 1 and all(map(_is_number, rows[1][:2]))
        if has_header:
            before += 1 + sum(cell.count("\n") for cell in rows[0])
            names = tuple(cell.strip() for cell in rows[0])
        else:
            unnamed = (f"column{i}" for i in range(3, len(rows[0]) + 1))
            names = ("source", "target", *unnamed)[: len(rows[0])]
        data = rows[has_header:]
        cells = ((n, c) for row in data for n, c in zip(names, row, strict=False))
        padded = frozenset(n for n, c in cells if c[:1] == "0" and c.isdigit() and len(c) > 1)
        first_ids = frozenset(cell.strip() for row in data for cell in row[:2])
        first_cells = tuple(rows[0])
        return cls(delimiter, names, before, first_cells, has_header, padded, first_ids)

    def require_header(self, path: Path) -> None:
        """A name that stands among the ids too is an id, and the first line an edge."""
        twice = [name for name in self.names[:2] if name in self.first_ids]
        if twice:
            raise InputError(
                f"the first line of {path.name} must name its columns, but {twice[0]!r} stands "
                "among the ids too; add a line like source,target"
            )

    def require_names(self, path: Path) -> None:
        """Numbers in the first line of a node table may be names of columns or a node."""
        if not self.has_header:
            raise InputError(
                f"the first line of {path.name} must name its columns, but it holds "
                f"{show(self.first_cells)}; give them names like id,x,label"
            )


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text table, each with the line it starts on (from 1); blank ones are none.

    They end at a cell that is too long for Python's reader.
    """
    reader = csv.reader(lines, delimiter=delimiter)
    start = 1
    with contextlib.suppress(csv.Error):
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1


def looks_numeric(column: Any, name: str, reader: TableReader) -> bool:
    """Whether a column is a feature when nobody chose.

    Text of which most cells are numbers is a numeric column with a mistake in it: an error, since
    leaving such a column out without a word would cost accuracy unseen.
    """
    if reader.is_padded(name):
        return False
    if not _is_text(column):
        types = arrow().types
        numeric = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
        return any(check(column.type) for check in numeric)
    present = len(column) - int(as_numpy(_is_empty(column)).sum())
    if not present or _numeric_cells(column).sum() < present / 2:
        return False
    as_float64(column, name, reader)
    return True


def as_float64(
    column: Any, name: str, reader: TableReader, *, first_row: int = 0
) -> NDArray[np.float64]:
    """A column of finite numbers; the first cell that is none is an error that names it."""
    pa = arrow()
    if _is_text(column):
        empty = as_numpy(_is_empty(column))
        bad = ~_numeric_cells(column) & ~empty
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"column {name!r} must hold numbers, but {reader.place(first_row + row)} has "
                f"{column[row].as_py()!r}; mend the cell or choose other columns"
            )
        values = np.where(empty, "nan", as_numpy(column)).astype(np.float64)
    else:
        try:
            values = as_numpy(column.cast(pa.float64(), safe=False)).astype(np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"column {name!r} must hold numbers, but in {reader.what} it holds "
                f"{column.type}; choose other columns"
            ) from None
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        cell = "an empty cell or a mark like NA" if np.isnan(values[row]) else values[row]
        raise InputError(
            f"column {name!r} must hold finite numbers, but {reader.place(first_row + row)} has "
            f"{cell}; fill it, drop the row, or choose other columns"
        )
    return values


def as_ids(column: Any) -> NDArray[Any]:
    """Ids as int64 where they are whole numbers that fit, else as an object array of text."""
    types = arrow().types
    if types.is_integer(column.type):
        ids = as_numpy(column)
        if ids.dtype != np.uint64 or len(ids) == 0 or ids.max() < 2**63:
            return ids.astype(np.int64, copy=False)
    elif types.is_floating(column.type):
        floats = as_numpy(column)
        # Beyond 2**53 not every whole number is a float, and two ids may have become one.
        if np.all((floats == np.rint(floats)) & (np.abs(floats) < 2**53)):
            return np.asarray(floats, dtype=np.int64)
    return as_numpy(as_text(column))


def written_integers(column: Any) -> Any:
    """Written ids as int64, where each is written as an integer is; else None.

    007, +7 and 1e5 are other ids than 7 and 100000. A column that ends in .0 throughout is one of
    integers beside empty cells, as pandas writes it.
    """
    functions = compute()
    said = _said(column)
    if functions.all(functions.ends_with(said, ".0")).as_py():
        said = functions.utf8_slice_codeunits(said, 0, -2)
    longer = functions.greater(functions.binary_length(said), 1)
    padded = functions.and_(functions.starts_with(said, "0"), longer)
    if functions.any(functions.or_(padded, functions.starts_with(said, "-0"))).as_py():
        return None
    try:
        return said.cast(arrow().int64())
    except arrow().ArrowInvalid:
        return None


def require_ids(column: Any, name: str, reader: TableReader, *, first_row: int = 0) -> None:
    """Every row has an id."""
    missing = column.is_null(nan_is_null=True)
    if _is_text(column):
        missing = compute().or_(missing, _is_empty(column))
    if compute().any(missing).as_py():
        row = first_row + int(np.flatnonzero(as_numpy(missing))[0])
        raise InputError(
            f"every row must have an id, but column {name!r} is empty in {reader.place(row)}; "
            "fill it or drop the row"
        )


def as_text(column: Any) -> Any:
    try:
        return column.cast(arrow().string())
    except arrow().ArrowNotImplementedError:
        raise InputError(
            f"ids must be numbers or text, but a column holds {column.type}; choose another column"
        ) from None


def as_numpy(column: Any) -> NDArray[Any]:
    """NumPy values of an Arrow column; missing ones are NaN or None."""
    if isinstance(column, arrow().ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _is_text(column: Any) -> bool:
    return bool(arrow().types.is_string(column.type))


def _plain_text(column: Any, *, trim: bool = False) -> Any:
    """Categories by their values, every kind of text as one, spaces around written cells gone."""
    types = arrow().types
    if types.is_dictionary(column.type):
        return _plain_text(column.dictionary).take(column.indices)
    if types.is_large_string(column.type) or types.is_string_view(column.type):
        column = column.cast(arrow().string())
    return compute().utf8_trim_whitespace(column) if trim and _is_text(column) else column


def _numbers_if_all_are(column: Any) -> Any:
    """Text as integers or floats where every cell that says something is one."""
    said = _said(column)
    for pattern, kind in (
        (r"^[-+]?(0|[1-9]\d{0,17})$", arrow().int64()),
        (_NUMBER, arrow().float64()),
    ):
        if compute().all(compute().match_substring_regex(said, pattern)).as_py():
            return said.cast(kind)
    return column


def _said(column: Any) -> Any:
    """Text with null where a cell says nothing."""
    return compute().if_else(compute().is_in(column, arrow().array(_NOTHING)), None, column)


def _numeric_cells(column: Any) -> NDArray[np.bool_]:
    matches = compute().match_substring_regex(column, _NUMBER)
    return as_numpy(matches.fill_null(False)).astype(bool)


def _is_empty(column: Any) -> Any:
    return compute().equal(column, "").fill_null(True)


def _as_arrow(table: TableLike, role: str) -> Any:
    pa = arrow()
    if not isinstance(table, (pa.Table, Mapping)) and not hasattr(table, "__arrow_c_stream__"):
        raise InputError(
            f"{role} must be a path, a mapping of columns or an Arrow-compatible dataframe, "
            f"but got {type(table).__name__}; try {{'source': [...], 'target': [...]}}"
        )
    try:
        data = pa.table(dict(table) if isinstance(table, Mapping) else table)
        # Some versions of pandas send the index along.
        index = [name for name in data.column_names if name.startswith("__index_level_")]
        return data.drop_columns(index) if index else data
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the {role} table cannot be read: {error}; give columns of one length and type"
        ) from None


def _is_parquet(path: Path) -> bool:
    """By the file's name; a file that is not what its name says is an error."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} must be a file, but it is a folder; name the table in it")
    if not path.exists():
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        others = [other.name for other in siblings if other.name != path.name]
        hint = suggest(path.name, others) or "; mend the path"
        raise InputError(f"there is no file {str(path)!r}{hint}")
    return path.suffix.lower() in (".parquet", ".pq")


def _parquet_names(path: Path) -> list[str]:
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise InputError(
                f"{path.name} is not a Parquet file (it does not start with PAR1); "
                "rename it after what it is"
            )
    parquet = optional("pyarrow.parquet", extra="search", purpose="reading Parquet")
    with parsing(path, "a Parquet file"):
        return list(parquet.read_schema(path).names)


def _check_text(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(4096)
    if not start:
        raise InputError(f"{path.name} is empty; it needs a row for each edge or node")
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path.name} must be UTF-8, but it is UTF-16; save it as CSV UTF-8")
    if b"\0" in start or start[:4] == b"PAR1":
        raise InputError(
            f"{path.name} is not a text table (it holds binary data); rename it after what it is"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def compute() -> Any:
    """PyArrow's functions on columns."""
    return optional("pyarrow.compute", extra="search", purpose="reading tables")


def arrow() -> Any:
    """PyArrow, or how to install it."""
    return optional("pyarrow", extra="search", purpose="reading tables")
