"""Ways to compress the bytes of a file, as programs do."""

import gzip
import lzma
import struct
import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKS = [bytes, gzip.compress, lzma.compress, zstd.compress]


def skippable(data=b"anything", number=0):
    """Return a frame that readers of zstd skip."""
    return struct.pack("<II", 0x184D2A50 + number, len(data)) + data


def zstd_in_frames(data):
    """Compress in several frames with others to skip between, as pzstd and zstd --rsyncable do."""
    return skippable() + zstd.compress(data[:9]) + skippable(number=15) + zstd.compress(data[9:]) + skippable(b"")


def zstd_of_window(log):
    """Return what compresses as zstd --long=LOG does; above 27, readers must be told to allow it."""

    def compress(data):
        pack = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
        return pack.compress(data) + pack.flush()

    return compress
