"""AXI4 as five streams: the channels' payloads, and one signature for reads and one for writes.

Fields that nobody here uses (lock, cache, prot, qos, region, user) are left out; who connects flat
ports ties them off. Ref: Arm IHI 0022H, A2 (signals) and A3 (transfers).
"""

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

__all__ = ["Axi4Read", "Axi4Write"]


class _Axi4(Signature):
    """What both directions share: widths, channel payloads, equality."""

    def __init__(self, address_bits, data_bits, id_bits):
        for name, value in (("Address", address_bits), ("ID", id_bits)):
            if not isinstance(value, int) or value < 1:
                raise TypeError(f"{name} width must be a positive integer, not {value!r}")
        if data_bits not in (32, 64, 128, 256, 512, 1024):
            raise ValueError(f"Data width must be 32 to 1024 bits by doubling, not {data_bits!r}")
        self._address_bits = address_bits
        self._data_bits = data_bits
        self._id_bits = id_bits

    @property
    def address_bits(self):
        return self._address_bits

    @property
    def data_bits(self):
        return self._data_bits

    @property
    def id_bits(self):
        return self._id_bits

    @property
    def address_payload(self):
        """AxADDR, AxLEN (beats - 1), AxSIZE (log2 of a beat's bytes), AxBURST and AxID."""
        return data.StructLayout(
            {"addr": self.address_bits, "len": 8, "size": 3, "burst": 2, "id": self.id_bits}
        )

    def __eq__(self, other):
        return type(self) is type(other) and (
            (self.address_bits, self.data_bits, self.id_bits)
            == (other.address_bits, other.data_bits, other.id_bits)
        )

    def __repr__(self):
        return f"{type(self).__name__}({self.address_bits}, {self.data_bits}, {self.id_bits})"


class Axi4Read(_Axi4):
    """Read address and read data, seen from the manager.

    Parameters
    ----------
    address_bits, data_bits, id_bits : int
        Widths; ``data_bits`` is 32 to 1024.

    Members
    -------
    ar : Out(stream of address_payload)
        Read requests.
    r : In(stream of data_payload)
        Their beats: data, response, last, ID.
    """

    def __init__(self, address_bits, data_bits, id_bits):
        super().__init__(address_bits, data_bits, id_bits)
        Signature.__init__(
            self,
            {
                "ar": Out(stream.Signature(self.address_payload)),
                "r": In(stream.Signature(self.data_payload)),
            },
        )

    @property
    def data_payload(self):
        return data.StructLayout({"data": self.data_bits, "resp": 2, "last": 1, "id": self.id_bits})


class Axi4Write(_Axi4):
    """Write address, write data and write response, seen from the manager.

    Parameters
    ----------
    address_bits, data_bits, id_bits : int
        Widths; ``data_bits`` is 32 to 1024.

    Members
    -------
    aw : Out(stream of address_payload)
        Write requests.
    w : Out(stream of data_payload)
        Their beats: data, byte strobes, last.
    b : In(stream of response_payload)
        One response a burst: response, ID.
    """

    def __init__(self, address_bits, data_bits, id_bits):
        super().__init__(address_bits, data_bits, id_bits)
        Signature.__init__(
            self,
            {
                "aw": Out(stream.Signature(self.address_payload)),
                "w": Out(stream.Signature(self.data_payload)),
                "b": In(stream.Signature(self.response_payload)),
            },
        )

    @property
    def data_payload(self):
        return data.StructLayout({"data": self.data_bits, "strb": self.data_bits // 8, "last": 1})

    @property
    def response_payload(self):
        return data.StructLayout({"resp": 2, "id": self.id_bits})
