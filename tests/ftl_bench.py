"""A flash translation layer on a dictionary: every operation is done at once, or cut off."""

from dataclasses import dataclass, field

from firmware_model.ftl import rebuild
from firmware_model.ftl.blocks import BlockState, Stream
from firmware_model.ftl.core import Ftl, Write
from firmware_model.ftl.geometry import FtlParameters
from firmware_model.ftl.images import MapImage
from firmware_model.ftl.page_map import MapMiss
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage, Striping

LAYOUT = PageLayout(page_bytes=512, spare_bytes=512, lba_bytes=512)
"""A map page has 128 entries."""
STRIPING = Striping(channels=2, ways=1, luns=2, rows=32)
PARAMETERS = FtlParameters(pages_per_block=4, planes=2, map_cache_pages=1, gc_free_blocks=2)
PAGES = 60
NOISE = "noise"
KINDS = {None: rebuild.ERASED, NOISE: rebuild.NOISE}


class PowerLoss(Exception):
    pass


@dataclass
class DictFlash:
    """Pages by place: (logical page, sequence, copies, data) or NOISE; checks rules of programs.

    ``budget`` are the programs and erases until the power fails in the midst of one.
    """

    parameters: FtlParameters
    pages: dict = field(default_factory=dict)
    bad_pages: set = field(default_factory=set)
    bad_blocks: set = field(default_factory=set)
    budget: int | None = None

    def spend(self):
        if self.budget is not None:
            self.budget -= 1
            return self.budget < 0
        return False

    def program(self, place, content):
        block, page = self.parameters.block(place)
        later = list(self.parameters.pages(block))[page:]
        assert not any(other in self.pages for other in later), f"{place} is not the next page"
        cut = self.spend()
        failed = place in self.bad_pages
        self.pages[place] = NOISE if cut or failed else content
        if cut:
            raise PowerLoss
        return not failed

    def erase(self, block):
        cut = self.spend()
        failed = block in self.bad_blocks
        for place in self.parameters.pages(block):
            self.pages.pop(place, None)
            if cut or failed:
                self.pages[place] = NOISE
        if cut:
            raise PowerLoss
        return not failed

    def read(self, place):
        content = self.pages[place]
        assert content != NOISE, f"{place} is noise"
        return content


class FtlBench:
    """Write and read pages; data of a page is any value, that of a map page its bytes."""

    def __init__(self, parameters=PARAMETERS, *, pages=PAGES, layout=LAYOUT, striping=STRIPING):
        self.arguments = parameters, layout, striping, pages
        self.flash = DictFlash(parameters)
        self.ftl = Ftl(*self.arguments)

    def load(self, first, count):
        """Bulk-loaded pages whose data is ("loaded", page)."""
        indices = self.ftl.load(first, count)
        size = self.ftl.layout.page_bytes
        entries = range(indices.start - self.ftl.map.pages, indices.stop - self.ftl.map.pages)
        image = MapImage(entries, range(first, first + count), size)
        for number, page in enumerate(range(first, first + count), 1):
            self.flash.pages[self.ftl.striping.physical(page)] = page, number, 0, ("loaded", page)
        for number, page in enumerate(indices):
            data = image.read(number * size, size)
            place = self.ftl.striping.physical(page)
            self.flash.pages[place] = page, count + 1 + number, 0, data

    def cache(self, page):
        """Have the map page of a page in the cache, or its entry in the log."""
        ftl = self.ftl
        while True:
            try:
                return ftl.find(page)
            except MapMiss as miss:
                if len(ftl.map) == ftl.map.capacity:
                    self.evict()
                place = ftl.find(ftl.map.pages + miss.index)
                ftl.map.install(miss.index, None if place is None else self.flash.read(place)[-1])

    def evict(self):
        ftl = self.ftl
        index = ftl.map.oldest()
        if index not in ftl.map.dirty:
            ftl.map.drop(index)
            return
        raw = ftl.map.snapshot(index)
        self._store(ftl.map.pages + index, raw)
        ftl.map.drop(index)

    def write(self, page, data):
        self.cache(page)
        self._store(page, data)

    def _store(self, page, data):
        ftl = self.ftl
        sequence = ftl.begin(page)
        self.collect()
        while True:
            place = ftl.allocate(Stream.HOST)
            assert place is not None, "no room"
            if self.flash.program(place, (page, sequence, 0, data)):
                break
            ftl.fail(place)
            self.collect()
        ftl.commit(Write(page, sequence, place))

    def read(self, page):
        """Data of a page, None if it was never written."""
        place = self.cache(page)
        if place is None:
            return None
        found, *_, data = self.flash.read(place)
        assert found == page
        return data

    def collect(self):
        for scope in range(self.ftl.blocks.scopes):
            while self.ftl.needs_collection(scope) and self.collect_block(scope):
                pass

    def collect_block(self, scope=0):
        ftl = self.ftl
        victim = ftl.blocks.victim(scope)
        if victim is None:
            return False
        for old in ftl.blocks.valid_pages(victim):
            page, sequence, copies, data = self.flash.read(old)
            while True:
                new = ftl.allocate(Stream.COLLECTOR, scope)
                assert new is not None, "no room for the collector"
                if self.flash.program(new, (page, sequence, copies + 1, data)):
                    break
                ftl.fail(new)
            assert ftl.commit_move(page, old, new)
        if ftl.blocks.state(victim) is not BlockState.BAD:
            ftl.erased(victim, is_done=self.flash.erase(victim))
        ftl.counters.collected_blocks += 1
        return True

    def reboot(self):
        """All but flash is lost, and found again."""
        self.flash.budget = None
        self.ftl = Ftl(*self.arguments)
        scan = rebuild.Rebuild(self.ftl)
        striping, parameters = self.ftl.striping, self.ftl.parameters
        rows = range(0, striping.rows, parameters.pages_per_block)
        for channel in range(striping.channels):
            for way in range(striping.ways):
                for lun in range(striping.luns):
                    for row in rows:
                        self._scan(scan, channel, way, lun, row)
        contents = {index: self.flash.read(at)[-1] for index, at in scan.map_pages.items()}
        scan.finish(contents)

    def _scan(self, scan, channel, way, lun, row):
        block, _ = self.ftl.parameters.block(PhysicalPage(channel, way, lun, row))
        found = []
        for place in self.ftl.parameters.pages(block):
            content = self.flash.pages.get(place)
            found.append(KINDS[content] if content in (None, NOISE) else content[:3])
        scan.add(block, found)

    def check(self):
        """Valid pages are those that the map leads to, and no other."""
        ftl = self.ftl
        places = {self.cache(page) for page in range(ftl.map.pages)} - {None}
        places |= {ftl.find(ftl.map.pages + index) for index in range(ftl.map.map_pages)} - {None}
        for place in self.flash.pages:
            assert ftl.blocks.is_valid(place) == (place in places), place
