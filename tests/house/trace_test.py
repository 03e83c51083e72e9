"""What ui.perfetto.dev finds in the trace of a step: packets of protobuf, read back without our own reader.

    tests/house/trace_test.py BUSBAR

Field numbers: protos/perfetto/trace of Perfetto, trace_packet.proto, track_event.proto, track_descriptor.proto,
counter_descriptor.proto, debug_annotation.proto and interned_data.proto.
"""
import collections
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSBAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
BEGIN, END, COUNTER = 1, 2, 4  # TrackEvent.Type


def varint(data, i):
    value = shift = 0
    while True:
        value |= (data[i] & 0x7F) << shift
        shift += 7
        i += 1
        if data[i - 1] < 0x80:
            return value, i


def fields(data):
    """Field number -> values: whole numbers, doubles, or bytes."""
    out, i = collections.defaultdict(list), 0
    while i < len(data):
        key, i = varint(data, i)
        if key & 7 == 0:
            value, i = varint(data, i)
        elif key & 7 == 1:
            value, i = struct.unpack_from("<d", data, i)[0], i + 8
        else:
            assert key & 7 == 2, key
            size, i = varint(data, i)
            value, i = data[i:i + size], i + size
        out[key >> 3].append(value)
    return out


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "step.perfetto-trace"
            done = subprocess.run([BUSBAR, "train", "examples/llama3-70b-512xh100.yaml", "--trace", str(path), "--json"],
                                  cwd=ROOT, check=True, capture_output=True)
            cls.json, packets = json.loads(done.stdout), fields(path.read_bytes())[1]
        cls.tracks, cls.interned, cls.events = {}, collections.defaultdict(dict), []
        for packet in map(fields, packets):
            for table in packet[12]:
                for kind, entries in fields(table).items():
                    for entry in map(fields, entries):
                        cls.interned[kind][entry[1][0]] = entry[2][0].decode()
            for track in map(fields, packet[60]):
                cls.tracks[track[1][0]] = track
            for event in packet[11]:
                cls.events.append((packet[8][0], fields(event)))

    def slices(self):
        """(category, arguments by name) of every slice."""
        for _, e in self.events:
            if e[9] == [BEGIN]:
                found = {}
                for a in map(fields, e[4]):
                    value = self.interned[29][a[17][0]] if a[17] else (a[3] or a[5])[0]
                    found[self.interned[3][a[1][0]]] = value
                yield self.interned[1][e[3][0]], found

    def test_every_slice_ends_on_its_track(self):
        depth = collections.Counter()
        for _, e in sorted(self.events, key=lambda event: event[0]):
            depth[e[11][0]] += {BEGIN: 1, END: -1}.get(e[9][0], 0)
            self.assertGreaterEqual(depth[e[11][0]], 0)
        self.assertEqual(set(depth.values()), {0})

    def test_collectives_say_bytes_algorithm_limit_and_exposed_time(self):
        exposed = collections.Counter()
        for category, arguments in self.slices():
            if category not in ("tp", "dp"):
                continue
            self.assertLessEqual({"bytes", "algorithm", "bound_by", "exposed_us"}, arguments.keys())
            self.assertGreater(arguments["bytes"], 0)
            self.assertRegex(arguments["bound_by"], r"^\S+->\S+$")
            exposed[category] += arguments["exposed_us"] / 1e6
        for category in ("tp", "dp"):  # every moment of the step belongs to one collective
            self.assertAlmostEqual(exposed[category], self.json["breakdown_s"]["exposed_" + category], places=4)

    def test_counters_are_links_by_name_with_their_course(self):
        courses = collections.defaultdict(list)
        for when, e in self.events:
            if e[9] == [COUNTER]:
                courses[e[11][0]].append((when, e[44][0]))  # by track: parallel cables share a name
        self.assertGreater(len(courses), 10)
        self.assertLessEqual(len(courses), 30)
        for track, course in courses.items():
            name = self.tracks[track][2][0].decode()
            self.assertRegex(name, r"^[a-z]+\d+(\.[a-z]+\d+)?->[a-z]+\d+(\.[a-z]+\d+)?$")
            self.assertEqual(course, sorted(course))
            self.assertGreater(len({round(value, 6) for _, value in course}), 3, name)
            self.assertTrue(all(0 <= value <= 100 for _, value in course), name)
            self.assertAlmostEqual(course[-1][0] / 1e9, self.json["balanced_step_time_s"], places=3)


if __name__ == "__main__":
    unittest.main()
