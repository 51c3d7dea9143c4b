#!/usr/bin/python3
"""database.py PROBE_UT DATA

The database as viewers use it: every question that they ask, through Python's sqlite3, and what they write
back. Answers follow from construct.json and from the rules of the format.
"""
import glob
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DATA = sys.argv[1:3]
ONE = {"step": 0, "rank": 0}


def tensor(value):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": value, "Min": -1.0, "Mean": 0.5, "Norm": 2.0,
            "requires_grad": False}


def call(value, **kwargs):
    return {"input_args": [tensor(1.0)], "input_kwargs": kwargs, "output": [tensor(value)]}


def group(ranks):
    return {"type": "torch.ProcessGroup", "group_ranks": ranks, "group_id": "g"}


REDUCE, SEND, RECEIVE = "Distributed.all_reduce.0.forward", "Distributed.send.0.forward", "Distributed.recv.0.forward"
BLOCK, LAYER, LEAF = "Module.b.Block.forward.0", "Module.b.fc.Linear.forward.0", "Torch.matmul.0.forward"
BACKWARD, SECOND = "Module.b.Block.backward.0", "Module.b.Block.forward.1"


def write_rank(folder, rank, error):
    """Two passes forward, one backward; rank 0 sends to rank 1; the leaf overflows in rank 1."""
    names = {BLOCK: None, LAYER: BLOCK, LEAF: LAYER, REDUCE: LAYER, SEND if rank == 0 else RECEIVE: BLOCK, BACKWARD: None, SECOND: None}
    data = {name: call(1.0 + error) for name in names}
    data[LEAF] = call(float("nan") if rank else 1.0)
    data[REDUCE] = call(1.0, group=group([0, 1]))
    data[SEND if rank == 0 else RECEIVE] = call(3.0, **{"dst" if rank == 0 else "src": {"type": "int", "value": 1 - rank}})
    files = {"dump.json": {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None, "data": data},
             "construct.json": names, "stack.json": {LEAF: ["File train.py, line 1, in forward"], LAYER: ["File train.py, line 1, in forward"]}}
    os.makedirs(folder)
    for name, content in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.chmod(os.path.join(folder, name), 0o640)


class Database(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        for rank in range(2):
            write_rank(cls.path(f"npu/step0/rank{rank}"), rank, 0.1)
            write_rank(cls.path(f"bench/step0/rank{rank}"), rank, 0.0)
        cls.file = cls.graph("out", "-tp", cls.path("npu"), "-gp", cls.path("bench"), "-oc")
        cls.third = cls.graph("out3", "-tp", cls.path("npu"), "-gp", cls.path("bench"), "--result-schema", "g3")
        cls.built = cls.graph("built", "-tp", DATA + "/npu")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.place.name, name)

    @classmethod
    def graph(cls, name, *words):
        done = subprocess.run([PROGRAM, "graph", "--format", "db", "-o", cls.path(name), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        files = glob.glob(cls.path(name) + "/*.vis.db")
        assert len(files) == 1, files
        return files[0]

    def setUp(self):
        self.connection = sqlite3.connect(self.file)
        self.connection.row_factory = sqlite3.Row
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = 40000", "wal_autocheckpoint = 0"):
            self.connection.execute(f"PRAGMA {pragma}")

    def tearDown(self):
        self.connection.rollback()
        self.connection.close()

    def ask(self, sql, **values):
        return [dict(row) for row in self.connection.execute(sql, {**ONE, "source": "NPU", **values})]

    def names(self, sql, **values):
        return [row["node_name"] for row in self.ask(sql, **values)]

    # ---- the file

    def test_the_file_is_one_that_viewers_open(self):
        self.assertRegex(os.path.basename(self.file), r"^compare_\d{14}\.vis\.db$")
        mode = os.stat(self.file).st_mode
        self.assertTrue(stat.S_ISREG(mode))
        self.assertEqual(mode & 0o022, 0)
        self.assertEqual(os.stat(os.path.dirname(self.file)).st_mode & 0o027, 0)

    def test_it_is_in_the_mode_of_a_log_that_is_folded_in(self):
        for path in (self.third, self.built):
            self.assertEqual(glob.glob(path + "-*"), [])
            with open(path, "rb") as file:
                self.assertEqual(file.read(20)[18:20], b"\x02\x02")
            connection = sqlite3.connect(path)
            self.assertEqual(connection.execute("PRAGMA journal_mode").fetchone()[0], "wal")
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            connection.close()

    def test_indexes_answer_the_questions(self):
        for number, where in ((1, "step = 0 AND rank = 0 AND data_source = 'NPU' AND up_node = 'x' ORDER BY node_order"),
                              (2, "step = 0 AND rank = 0 AND data_source = 'NPU' AND node_name = 'x'"),
                              (3, "step = 0 AND rank = 0 AND data_source = 'NPU' ORDER BY node_order"),
                              (4, "step = 0 AND rank = 0 ORDER BY node_order"),
                              (5, "step = 0 AND rank = 0 AND micro_step_id = 1 ORDER BY node_order"),
                              (6, "step = 0 AND rank = 0 AND modified = 1 AND matched_node_link IS NOT NULL")):
            plan = self.connection.execute(f"EXPLAIN QUERY PLAN SELECT node_name FROM tb_nodes WHERE {where}").fetchall()
            self.assertIn("USING", " ".join(row["detail"] for row in plan))
            columns = [row["name"] for row in self.connection.execute(f"PRAGMA index_info(index{number})")]
            self.assertEqual(columns[:2], ["step", "rank"])

    def test_the_configuration_is_one_row(self):
        row, = self.ask("SELECT * FROM tb_config")
        self.assertEqual((row["id"], row["graph_type"], row["task"], row["micro_steps"], row["overflow_check"]), ("1", "compare", "summary", 2, 1))
        self.assertEqual((json.loads(row["rank_list"]), json.loads(row["step_list"])), ([0, 1], [0]))
        self.assertEqual(list(json.loads(row["tool_tip"])), ["Max diff", "Min diff", "Mean diff", "L2norm diff"])
        colours = json.loads(row["node_colors"])
        self.assertEqual([band["value"] for band in colours.values()], [[0, 0.2], [0.2, 0.4], [0.4, 0.6], [0.6, 0.8], [0.8, 1], []])

    def test_a_built_graph_has_no_colours(self):
        connection = sqlite3.connect(self.built)
        self.assertEqual(connection.execute("SELECT graph_type, node_colors, tool_tip FROM tb_config").fetchall(), [("build", "null", None)])
        self.assertEqual(connection.execute("SELECT DISTINCT data_source, matched_node_link FROM tb_nodes").fetchall(), [("NPU", "[]")])
        connection.close()

    def test_the_third_generation_knows_communication(self):
        connection = sqlite3.connect(self.third)
        rows = connection.execute("SELECT DISTINCT node_name FROM tb_nodes WHERE is_distributed = 1 ORDER BY 1").fetchall()
        self.assertEqual([name for name, in rows], sorted([REDUCE, SEND, RECEIVE]))
        self.assertEqual(connection.execute("SELECT count(*) FROM tb_nodes WHERE is_distributed = 0").fetchone()[0], 2 * 2 * 6)
        bands = json.loads(connection.execute("SELECT node_colors FROM tb_config").fetchone()[0])
        self.assertEqual([band.get("accuracy_level") for band in bands.values()], ["pass", "warning", "error", None])
        connection.close()

    # ---- the tree

    def test_the_root(self):
        for source in ("NPU", "Bench"):
            row, = self.ask("SELECT * FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = :source AND up_node = ''", source=source)
            self.assertEqual((row["node_name"], row["node_type"], row["id"]), ("DefaultModel", "0", f"{source}_0_0_DefaultModel"))
            self.assertEqual(json.loads(row["sub_nodes"]), [BLOCK, BACKWARD, SECOND])

    def test_children_in_order(self):
        sql = "SELECT node_name FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = :source AND up_node = :parent ORDER BY node_order"
        self.assertEqual(self.names(sql, parent="DefaultModel"), [BLOCK, BACKWARD, SECOND])
        self.assertEqual(self.names(sql, parent=BLOCK), [LAYER, SEND])
        self.assertEqual(self.names(sql, parent=LAYER, rank=1), [LEAF, REDUCE])

    def test_ancestors(self):
        sql = """WITH RECURSIVE chain(id, node_name, up_node, level) AS (
                   SELECT id, node_name, up_node, 0 FROM tb_nodes
                    WHERE step = :step AND rank = :rank AND data_source = :source AND node_name = :name
                   UNION ALL
                   SELECT p.id, p.node_name, p.up_node, chain.level + 1 FROM tb_nodes p JOIN chain ON p.node_name = chain.up_node
                    WHERE p.step = :step AND p.rank = :rank AND p.data_source = :source AND chain.up_node <> '')
                 SELECT node_name FROM chain ORDER BY level"""
        self.assertEqual(self.names(sql, name=LEAF), [LEAF, LAYER, BLOCK, "DefaultModel"])

    def test_descendants_through_the_lists_of_children(self):
        sql = """WITH RECURSIVE below AS (
                   SELECT node_name, sub_nodes, node_order FROM tb_nodes
                    WHERE step = :step AND rank = :rank AND data_source = :source AND node_name = :name
                   UNION ALL
                   SELECT c.node_name, c.sub_nodes, c.node_order FROM below d JOIN json_each(d.sub_nodes) e
                     JOIN tb_nodes c ON c.node_name = e.value AND c.step = :step AND c.rank = :rank AND c.data_source = :source
                    WHERE d.sub_nodes <> '' AND json_type(d.sub_nodes) = 'array')
                 SELECT node_name FROM below ORDER BY node_order"""
        self.assertEqual(self.names(sql, name=BLOCK), [LEAF, REDUCE, LAYER, SEND, BLOCK])

    def test_orders_are_depth_first_children_before_parents(self):
        rows = self.ask("SELECT node_name, node_order, up_node FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = :source ORDER BY node_order")
        self.assertEqual([row["node_order"] for row in rows], list(range(8)))
        place = {row["node_name"]: row["node_order"] for row in rows}
        for row in rows:
            if row["up_node"]:
                self.assertLess(row["node_order"], place[row["up_node"]])

    # ---- what a node has

    def test_every_node_has_its_stack(self):
        rows = self.ask("""SELECT n.node_name, s.id, s.stack_info FROM tb_nodes n JOIN tb_stack s ON n.stack_id = s.id
                           WHERE n.step = :step AND n.rank = :rank AND n.data_source = :source""")
        self.assertEqual(len(rows), 8)
        stacks = {row["node_name"]: row for row in rows}
        self.assertEqual(json.loads(stacks[LEAF]["stack_info"]), ["File train.py, line 1, in forward"])
        self.assertEqual(stacks[LEAF]["id"], stacks[LAYER]["id"])  # equal stacks are one
        self.assertRegex(stacks[LEAF]["id"], r"^NPU_0_0_\d+$")
        self.assertEqual(json.loads(stacks[BLOCK]["stack_info"]), [])

    def test_rows_are_texts(self):
        row, = self.ask("SELECT * FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = :source AND node_name = :name", name=BLOCK)
        outputs = json.loads(row["output_data"])
        self.assertEqual(list(outputs), [BLOCK + ".output.0"])
        output = outputs[BLOCK + ".output.0"]
        self.assertTrue(all(isinstance(text, str) for text in output.values()))
        self.assertEqual((output["Max"], output["shape"], output["Max diff"], output["MaxRelativeErr"]), ("1.1", "[2, 3]", "0.1", "10.000000%"))
        self.assertAlmostEqual(row["precision_index"], 0.1)

    def test_micro_steps_and_their_names(self):
        sql = """SELECT node_name FROM tb_nodes WHERE step = :step AND rank = :rank AND (:page = -1 OR micro_step_id = :page)
                 AND data_source = 'NPU' ORDER BY node_order"""
        self.assertEqual(self.names(sql, page=1), [SECOND])
        self.assertEqual(self.names(sql, page=0), [LEAF, REDUCE, LAYER, SEND, BLOCK, BACKWARD, "DefaultModel"])
        self.assertEqual(len(self.names(sql, page=-1)), 8)

    # ---- matches

    def test_lists_of_what_is_matched(self):
        rows = self.ask("SELECT node_name, data_source, matched_node_link FROM tb_nodes WHERE step = :step AND rank = :rank ORDER BY node_order")
        self.assertEqual(len(rows), 16)
        for row in rows:
            self.assertEqual(json.loads(row["matched_node_link"])[-1], row["node_name"])
        links = {row["node_name"]: json.loads(row["matched_node_link"]) for row in rows}
        self.assertEqual(links[LEAF], ["DefaultModel", BLOCK, LAYER, LEAF])

    def test_leaves_of_a_band(self):
        sql = """SELECT node_name FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = 'NPU' AND (:page = -1 OR micro_step_id = :page)
                 AND (sub_nodes = '' OR sub_nodes IS NULL OR sub_nodes = '[]') AND (precision_index BETWEEN :low AND :high) ORDER BY node_order"""
        self.assertEqual(self.names(sql, page=-1, low=0, high=0.05), [LEAF, REDUCE, SEND])
        self.assertEqual(self.names(sql, page=-1, low=0.05, high=1), [BACKWARD, SECOND])
        self.assertEqual(self.names(sql, page=-1, low=0.9, high=1, rank=1), [LEAF])  # nan

    def test_leaves_that_overflow(self):
        sql = """SELECT node_name FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = 'NPU'
                 AND (sub_nodes = '' OR sub_nodes IS NULL OR sub_nodes = '[]') AND overflow_level IN ('medium', 'high', 'critical') ORDER BY node_order"""
        self.assertEqual(self.names(sql), [])
        self.assertEqual(self.names(sql, rank=1), [LEAF])
        level, = self.ask("SELECT overflow_level FROM tb_nodes WHERE id = 'NPU_0_1_' || :name", name=LEAF)
        self.assertEqual(level["overflow_level"], "critical")

    def test_what_the_viewer_changes_is_found_again(self):
        self.assertEqual(self.ask("SELECT 1 FROM tb_nodes WHERE modified <> 0"), [])
        self.connection.execute("""UPDATE tb_nodes SET matched_node_link = ?, input_data = '{}', output_data = '{}', precision_index = 0.25, modified = 1
                                   WHERE step = 0 AND rank = 0 AND data_source = 'NPU' AND node_name = ?""", (json.dumps([SEND]), LEAF))
        self.connection.execute("UPDATE tb_config SET node_colors = '{}' WHERE id = 1")
        sql = """SELECT node_name, matched_node_link FROM tb_nodes WHERE step = :step AND rank = :rank AND modified = 1
                 AND matched_node_link IS NOT NULL AND matched_node_link <> '[]' AND matched_node_link <> ''"""
        self.assertEqual([(row["node_name"], json.loads(row["matched_node_link"])) for row in self.ask(sql)], [(LEAF, [SEND])])
        self.assertEqual(self.ask("SELECT node_colors FROM tb_config")[0]["node_colors"], "{}")

    # ---- links between ranks

    def links(self, rank, name, source="NPU"):
        row, = self.ask("SELECT matched_distributed FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = :source AND node_name = :name",
                        rank=rank, name=name, source=source)
        return json.loads(row["matched_distributed"])

    def test_members_of_a_group_are_linked_both_ways(self):
        for source in ("NPU", "Bench"):
            for rank in range(2):
                self.assertEqual(self.links(rank, REDUCE, source),
                                 {"communications_type": "send_receive", "nodes_info": {str(1 - rank): ["Nan", REDUCE]}})

    def test_what_is_sent_is_received(self):
        self.assertEqual(self.links(0, SEND), {"communications_type": "send", "nodes_info": {"1": ["Nan", RECEIVE]}})
        self.assertEqual(self.links(1, RECEIVE), {"communications_type": "receive", "nodes_info": {"0": ["Nan", SEND]}})
        self.assertEqual(self.links(0, LEAF), {})

    def test_links_lead_to_nodes(self):
        rows = self.ask("SELECT step, data_source, matched_distributed FROM tb_nodes WHERE matched_distributed <> '{}'")
        self.assertEqual(len(rows), 8)
        for row in rows:
            for rank, (_, name) in json.loads(row["matched_distributed"])["nodes_info"].items():
                found = self.ask("SELECT 1 FROM tb_nodes WHERE step = :step AND rank = :rank AND data_source = :source AND node_name = :name",
                                 rank=int(rank), name=name, source=row["data_source"])
                self.assertEqual(len(found), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
