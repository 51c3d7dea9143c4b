#!/usr/bin/python3
"""rules.py PROBE_UT

The program on the smallest dumps that show a rule: what a .vis file says, what is refused, what hostile
folders do. Expected values follow from the rules themselves.
"""
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])


def tensor(value=1.0, shape=(2, 3), dtype="torch.float32", **more):
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), "Max": value, "Min": 0.0, "Mean": 0.5, "Norm": 2.0,
            "requires_grad": False, **more}


def entry(inputs=(1.0,), outputs=(1.0,), **more):
    row = lambda x: x if isinstance(x, dict) or x is None else tensor(x)
    return {"input_args": [row(x) for x in inputs], "input_kwargs": {}, "output": [row(x) for x in outputs], **more}


class Case(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.place.cleanup()

    def path(self, name):
        return os.path.join(self.place.name, name)

    def write(self, folder, construct, data=None, stack=None, raw=None, **head):
        """A rank folder; nodes without data have one input and one output. `raw`: texts of files as they are."""
        os.makedirs(self.path(folder), exist_ok=True)
        if data is None:
            data = {name: entry() for name in construct if name != "megatron_micro_step_number"}
        head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None} | head
        files = {"construct.json": json.dumps(construct), "dump.json": json.dumps(head | {"data": data}), "stack.json": json.dumps(stack or {})}
        for name, text in (files | (raw or {})).items():
            if text is None:
                continue
            with open(self.path(f"{folder}/{name}"), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(self.path(f"{folder}/{name}"), 0o640)

    def run_graph(self, *words, before=None, framework=()):
        return subprocess.run([PROGRAM, *framework, "graph", *words, "-o", self.path("out")], capture_output=True, text=True, check=False,
                              cwd=self.place.name, preexec_fn=before)

    def refused(self, why, *words, status=3):
        done = self.run_graph(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(why, done.stderr)
        self.assertEqual(glob.glob(self.path("out/*")), [])

    def graph(self, *words, pattern="*.vis", framework=()):
        done = self.run_graph(*words, "--format", "vis", framework=framework)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.errors, self.said = done.stderr, done.stdout
        files = sorted(glob.glob(self.path("out/" + pattern)))
        self.assertEqual(len(files), 1, files)
        with open(files[0], encoding="utf-8") as file:
            return json.load(file)

    def compared(self, *words, **more):
        vis = self.graph("-tp", "npu", "-gp", "bench", *words, **more)
        return vis["NPU"]["node"], vis["Bench"]["node"]


class Folders(Case):
    def test_ranks_and_steps_in_the_order_of_numbers(self):
        for step in (2, 10):
            for rank in (11, 3):
                self.write(f"npu/step{step}/rank{rank}", {"Module.m.M.forward.0": None})
        done = self.run_graph("-tp", "npu", "--format", "db,vis")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(os.path.basename(path).rsplit("_", 1)[0] for path in glob.glob(self.path("out/*.vis")))
        self.assertEqual(names, ["build_step10_rank11", "build_step10_rank3", "build_step2_rank11", "build_step2_rank3"])
        import sqlite3
        connection = sqlite3.connect(glob.glob(self.path("out/*.db"))[0])
        self.assertEqual(connection.execute("SELECT rank_list, step_list FROM tb_config").fetchone(), ("[3, 11]", "[2, 10]"))
        connection.close()

    def test_a_folder_of_tensors_is_a_rank(self):
        self.write("npu", {"Module.m.M.forward.0": None})
        os.makedirs(self.path("npu/dump_tensor_data"))
        os.makedirs(self.path("npu/rank0"))
        self.graph("-tp", "npu")

    def test_the_single_folder_rank_holds_a_rank(self):
        self.write("npu/rank", {"Module.m.M.forward.0": None})
        self.graph("-tp", "npu", pattern="build_rank0_*.vis")

    def test_ranks_that_one_side_lacks_are_left_out(self):
        for folder in ("npu/rank0", "npu/rank1", "bench/rank1", "bench/rank2"):
            self.write(folder, {"Module.m.M.forward.0": None})
        self.graph("-tp", "npu", "-gp", "bench", pattern="compare_rank1_*.vis")

    def test_the_first_generation_wants_equal_ranks(self):
        for folder in ("npu/rank0", "npu/rank1", "bench/rank1"):
            self.write(folder, {"Module.m.M.forward.0": None})
        self.refused("only one side", "-tp", "npu", "-gp", "bench", "--result-schema", "g1")

    def test_what_is_no_folder_of_dumps(self):
        os.makedirs(self.path("empty"))
        self.refused("'empty' is empty", "-tp", "empty")
        os.makedirs(self.path("other/rank0"))
        os.makedirs(self.path("other/logs"))
        self.refused("'logs' is none", "-tp", "other")
        os.makedirs(self.path("mixed/rank0"))
        os.makedirs(self.path("mixed/step0"))
        self.refused("mixture of ranks and steps", "-tp", "mixed")
        self.write("one", {"Module.m.M.forward.0": None})
        self.write("many/rank0", {"Module.m.M.forward.0": None})
        self.refused("are not of one kind", "-tp", "one", "-gp", "many")
        self.write("others/rank1", {"Module.m.M.forward.0": None})
        self.refused("have no rank in common", "-tp", "many", "-gp", "others")

    def test_each_file_is_needed(self):
        for name in ("construct.json", "dump.json", "stack.json"):
            self.write(name[:3], {"Module.m.M.forward.0": None}, raw={name: None})
            self.refused(name, "-tp", name[:3])
        self.write("l1", {})
        self.refused("dump with level L0 or mix", "-tp", "l1")


class Nodes(Case):
    def test_every_key_of_a_node(self):
        self.write("npu", {"Module.m.M.forward.0": None, "Torch.a.0.forward": "Module.m.M.forward.0"},
                   stack={"Torch.a.0.forward": ["File a.py, line 1"]})
        vis = self.graph("-tp", "npu")
        self.assertEqual(list(vis), ["root", "dump_data_dir", "node", "MicroSteps", "OverflowCheck"])
        node = vis["node"]["Torch.a.0.forward"]
        self.assertEqual(list(node), ["id", "node_type", "input_data", "output_data", "upnode", "subnodes", "matched_node_link", "suggestions",
                                      "stack_info", "data"])
        self.assertEqual((node["node_type"], node["upnode"], node["stack_info"], node["data"]), (1, "Module.m.M.forward.0", ["File a.py, line 1"], {}))
        self.assertEqual(vis["node"]["DefaultModel"]["upnode"], "None")
        self.assertEqual(vis["node"]["Module.m.M.forward.0"]["micro_step_id"], 0)
        with open(glob.glob(self.path("out/*.vis"))[0], encoding="utf-8") as file:
            self.assertIn('\n    "node": {\n        "DefaultModel": {\n            "id": "DefaultModel",\n', file.read())

    def test_rows_by_their_names(self):
        name = "Module.bert.output.dense.Linear.forward.0"
        self.write("npu", {name: None}, {name: entry(parameters={"weight": tensor(7.0)})})
        node = self.graph("-tp", "npu")["node"][name]
        self.assertEqual(list(node["input_data"]), [name + ".input.0"])
        self.assertEqual(list(node["output_data"]), [name + ".parameters.weight", name + ".output.0"])

    def test_values_become_texts(self):
        row = tensor(1.23456789, state="x", full_op_name="x", note="it's None")
        row |= {"Min": 1.23456789e-9, "Mean": 3, "Norm": None}
        self.write("npu", {"Torch.a.0.forward": None}, {"Torch.a.0.forward": entry([row, tensor(None), None], [float("nan")])})
        node = self.graph("-tp", "npu")["node"]["Torch.a.0.forward"]
        inputs = list(node["input_data"].values())
        self.assertEqual(inputs[0] | {"data_name": "-1"},
                         {"type": "torch.Tensor", "dtype": "torch.float32", "shape": "[2, 3]", "Max": "1.234568", "Min": "1.234568e-09", "Mean": "3",
                          "Norm": "null", "requires_grad": "False", "note": "its null", "data_name": "-1"})
        self.assertEqual(inputs[1:], [{"value": "null"}, {"value": "null"}])
        self.assertEqual(node["output_data"]["Torch.a.0.forward.output.0"]["Max"], "nan")

    def test_operations_of_batches_lose_who_they_meet(self):
        more = {"op": "isend", "peer": 1, "tag": 0, "group_id": "g"}
        for name, kept in (("Distributed.batch_isend_irecv.0.forward", set()), ("Torch.a.0.forward", set(more))):
            self.write(name, {name: None}, {name: entry([], [tensor(**more)])})
            node = self.graph("-tp", name)["node"][name]
            self.assertEqual(set(more) & set(node["output_data"][name + ".output.0"]), kept)
            os.remove(glob.glob(self.path("out/*.vis"))[0])

    def test_process_groups_keep_four_members(self):
        name = "Distributed.all_reduce.0.forward"
        group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g", "name": "x", "value": 3}
        self.write("npu", {name: None}, {name: {"input_args": [], "input_kwargs": {"group": group}, "output": []}})
        row = self.graph("-tp", "npu")["node"][name]["input_data"][name + ".input.group"]
        self.assertEqual(row, {"type": "torch.ProcessGroup", "group_ranks": "[0, 1]", "group_id": "g", "data_name": "-1"})

    def test_names_of_no_known_kind(self):
        self.write("npu", {"Strange.a.0.forward": None, "Module.m.M.forward.0": None})
        vis = self.graph("-tp", "npu")
        self.assertEqual(vis["node"]["Strange.a.0.forward"]["node_type"], 0)
        self.assertIn("1 name is of no known kind", self.errors)

    def test_stacks_of_backward_calls(self):
        names = ["Module.m.M.forward.0", "Module.m.M.backward.3", "Torch.a.0.forward", "Torch.a.0.backward", "Torch.b.0.backward"]
        self.write("npu", {name: "Module.top.T.forward.0" for name in names}, stack={names[0]: ["m"], names[2]: ["a"]})
        node = self.graph("-tp", "npu")["node"]
        self.assertEqual([node[name]["stack_info"] for name in names[:4]], [["m"], ["m"], ["a"], ["a"]])
        self.assertIn("cannot find the forward node", node[names[4]]["stack_info"][0])

    def test_repairs_say_so(self):
        self.write("npu", {"Module.a.A.forward.0": "Module.gone.G.forward.0", "Module.x.X.forward.0": "Module.y.Y.forward.0",
                           "Module.y.Y.forward.0": "Module.x.X.forward.0"})
        node = self.graph("-tp", "npu")["node"]
        self.assertIn("names no parent", node["Module.gone.G.forward.0"]["suggestions"]["text"])
        self.assertIn("its own ancestor", node["Module.x.X.forward.0"]["suggestions"]["text"])
        self.assertEqual(node["Module.a.A.forward.0"]["suggestions"], {})

    def test_keys_that_come_twice_count_once(self):
        text = '{"Module.m.M.forward.0": null, "Torch.a.0.forward": null, "Torch.a.0.forward": "Module.m.M.forward.0"}'
        self.write("npu", {"Module.m.M.forward.0": None, "Torch.a.0.forward": None}, raw={"construct.json": text})
        node = self.graph("-tp", "npu")["node"]
        self.assertEqual(node["DefaultModel"]["subnodes"], ["Module.m.M.forward.0"])
        self.assertEqual(node["Module.m.M.forward.0"]["subnodes"], ["Torch.a.0.forward"])

    def test_recorded_micro_steps_of_both_sides(self):
        construct = {"megatron_micro_step_number": 1, "Module.m.M.forward.0": [None, 0], "Module.m.M.forward.1": [None, 1]}
        self.write("npu", construct)
        self.write("bench", construct | {"Module.only.B.forward.7": [None, 1]})
        vis = self.graph("-tp", "npu", "-gp", "bench")
        self.assertEqual(vis["MicroSteps"], 2)
        bench = vis["Bench"]["node"]
        self.assertEqual([bench[name]["micro_step_id"] for name in ("Module.m.M.forward.1", "Module.only.B.forward.7")], [1, 1])

    def test_micro_steps_of_bench(self):
        self.write("npu", {"Module.m.M.forward.0": None, "Module.m.M.backward.0": None, "Module.m.M.forward.1": None})
        self.write("bench", {"Module.m.M.forward.1": None, "Module.only.B.forward.7": None, "Module.other": None})
        _, bench = self.compared()
        self.assertEqual([bench[name]["micro_step_id"] for name in ("Module.m.M.forward.1", "Module.only.B.forward.7", "Module.other")], [1, 7, 0])


class Matches(Case):
    TREE = {"Module.m.M.forward.0": None, "Torch.a.0.forward": "Module.m.M.forward.0"}

    def links(self, npu_data, bench_data, *words, npu=None, bench=None):
        self.write("npu", npu or self.TREE, npu_data)
        self.write("bench", bench or self.TREE, bench_data)
        nodes, others = self.compared(*words)
        os.remove(glob.glob(self.path("out/*.vis"))[0])
        self.others = others
        return {name: node["matched_node_link"][-1:] for name, node in nodes.items()}

    def test_exact_matches_need_equal_rows_and_ancestors(self):
        a = "Torch.a.0.forward"
        data = lambda *rows: {"Module.m.M.forward.0": entry(), a: entry(rows)}
        self.assertEqual(self.links(data(1.0), data(2.0))[a], [a])
        self.assertEqual(self.others[a]["matched_node_link"], ["DefaultModel", "Module.m.M.forward.0", a])
        self.assertEqual(self.links(data(1.0), data(1.0, 1.0))[a], [])
        self.assertEqual(self.links(data(1.0), data(tensor(shape=(3, 2))))[a], [])
        self.assertEqual(self.links(data(1.0), data(tensor(type="torch.Parameter")))[a], [])
        self.assertEqual(self.links(data(1.0), data(tensor(dtype="torch.float16")))[a], [a])  # dtypes are not looked at
        moved = {"Module.m.M.forward.0": None, a: None}
        self.assertEqual(self.links(data(1.0), data(1.0), bench=moved)[a], [])

    def test_a_parameter_counts_as_an_input(self):
        name = "Module.m.M.forward.0"
        npu, bench = {name: entry([1.0], parameters={"w": tensor()})}, {name: entry([1.0, 1.0])}
        self.assertEqual(self.links(npu, bench, npu={name: None}, bench={name: None})[name], [name])

    def test_fuzzy_matches_count_calls_of_a_name(self):
        npu = {"Module.m.M.forward.0": None, "Torch.a.5.forward": "Module.m.M.forward.0", "Torch.b.0.forward": "Module.m.M.forward.0",
               "Torch.a.9.forward": "Module.m.M.forward.0", "Module.u.U.forward.0": None, "Torch.c.0.forward": "Module.u.U.forward.0"}
        bench = {"Module.m.M.forward.0": None, "Torch.a.0.forward": "Module.m.M.forward.0", "Torch.a.1.forward": "Module.m.M.forward.0",
                 "Torch.c.0.forward": None}
        links = self.links(None, None, "-f", npu=npu, bench=bench)
        self.assertEqual([links[name] for name in ("Torch.a.5.forward", "Torch.a.9.forward", "Torch.b.0.forward", "Torch.c.0.forward")],
                         [["Torch.a.0.forward"], ["Torch.a.1.forward"], [], []])

    def test_fuzzy_matches_look_at_shapes_of_the_shorter_list(self):
        data = lambda *rows: {"Module.m.M.forward.0": entry(rows), "Torch.a.0.forward": entry()}
        name = "Module.m.M.forward.0"
        self.assertEqual(self.links(data(1.0, 2.0), data(1.0), "-f")[name], [name])
        self.assertEqual(self.links(data(1.0), data(tensor(shape=(9,))), "-f")[name], [])
        self.write("npu", self.TREE, data(1.0, 2.0))
        self.write("bench", self.TREE, data(1.0))
        nodes, _ = self.compared("-f")
        surplus = nodes[name]["input_data"][name + ".input.1"]
        self.assertEqual((surplus["Max diff"], surplus["MaxRelativeErr"], nodes[name]["input_data"][name + ".input.0"]["Max diff"]), ("Nan", "Nan", "0.0"))

    def test_mapped_matches_look_at_nothing_but_names(self):
        data = lambda shape: {"Module.m.M.forward.0": entry(), "Torch.a.0.forward": entry([tensor(shape=shape)])}
        self.assertEqual(self.links(data((2,)), data((9, 9)), "-lm")["Torch.a.0.forward"], ["Torch.a.0.forward"])

    def test_frameworks_need_a_mapping(self):
        self.write("npu", {"Cell.m.M.forward.0": None}, framework="mindspore")
        self.write("bench", {"Module.m.M.forward.0": None})
        self.refused("(-lm)", "-tp", "npu", "-gp", "bench")
        self.graph("-tp", "npu", "-gp", "bench", "-lm", framework=("-f", "mindspore"))


    def test_a_file_maps_layers(self):
        self.write("npu", {"Module.old.Linear.forward.0": None})
        self.write("bench", {"Module.newer.Linear.forward.0": None})
        with open(self.path("layers.yaml"), "w", encoding="utf-8") as file:
            file.write("TopLayer:\n  old: newer\n")
        nodes, _ = self.compared("-lm", "layers.yaml")
        self.assertEqual(nodes["Module.old.Linear.forward.0"]["matched_node_link"], ["DefaultModel", "Module.newer.Linear.forward.0"])

    def test_layers_of_the_first_generation(self):
        self.write("npu", self.TREE)
        self.write("bench", self.TREE)
        self.refused("needs a file", "-tp", "npu", "-gp", "bench", "--result-schema", "g1", "-lm", status=2)
        with open(self.path("broken.yaml"), "w", encoding="utf-8") as file:
            file.write("a: [\n")
        self.refused("broken.yaml", "-tp", "npu", "-gp", "bench", "-lm", "broken.yaml")
        nodes, _ = self.compared("-lm", "broken.yaml", "--result-schema", "g1")
        self.assertIn("it is ignored", self.errors)
        self.assertEqual(nodes["Torch.a.0.forward"]["matched_node_link"][-1], "Torch.a.0.forward")


class Indices(Case):
    A = "Torch.a.0.forward"

    def index(self, npu, bench, *words, name=A, construct=None):
        self.write("npu", construct or {name: None}, npu if isinstance(npu, dict) and name in npu else {name: npu})
        self.write("bench", construct or {name: None}, bench if isinstance(bench, dict) and name in bench else {name: bench})
        nodes, others = self.compared(*words)
        os.remove(glob.glob(self.path("out/*.vis"))[0])
        self.assertNotIn("precision_index", others[name]["data"])
        self.nodes = nodes
        return nodes[name]["data"].get("precision_index")

    def test_the_largest_relative_error_of_the_outputs(self):
        self.assertAlmostEqual(self.index(entry([5.0], [1.1, 1.3]), entry([1.0], [1.0, 1.0])), 0.3)
        self.assertEqual(self.index(entry([1.0], [4.0]), entry([1.0], [1.0])), 1)
        self.assertEqual(self.index(entry([1.0], [float("inf")]), entry([1.0], [float("inf")])), 1)
        self.assertEqual(self.index(entry([float("nan")], [1.0]), entry([1.0], [1.0])), 0)
        self.assertEqual(self.index(entry([1.0], []), entry([1.0], [])), 0)

    def test_models_without_a_node_in_common_are_no_success(self):
        self.write("npu", {"Torch.a.0.forward": None, "Torch.b.0.forward": None})
        self.write("bench", {"Torch.c.0.forward": None, "Torch.d.0.forward": None})
        words = ("-tp", "npu", "-gp", "bench", "--format", "vis")
        self.assertEqual(self.run_graph(*words).returncode, 0)
        self.assertEqual(self.run_graph(*words, "--fail-on", "suspicious").returncode, 5)
        self.assertEqual(self.run_graph("-tp", "npu", "--format", "vis", "--fail-on", "suspicious").returncode, 0)

    def test_infinities_of_both_sides_are_not_suspicious(self):
        # A causal mask: in the files 1, as in msprobe's; nobody is sent there.
        masked = entry([1.0], [tensor(Min=float("-inf"), Mean=float("-inf"), Norm=float("inf"))])
        self.assertEqual(self.index(masked, masked), 1)
        self.assertIn("0 suspicious", self.said)
        self.assertEqual(self.index(masked, entry([1.0], [tensor(Min=float("nan"))])), 1)
        self.assertIn("1 suspicious", self.said)
        self.assertEqual(self.index(entry(), entry([1.0], [tensor(Min=float("nan"))])), 0)
        self.assertIn("1 suspicious", self.said)
        off = entry([1.0], [tensor(1.6, Min=float("-inf"), Mean=float("-inf"), Norm=float("inf"))])
        self.index(off, masked)
        self.assertIn("1 suspicious", self.said)

    def test_memory_as_it_is_has_the_best_index(self):
        for api in ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_with_format"):
            name = f"Torch.{api}.0.forward"
            self.assertEqual(self.index(entry([1.0], [float("nan")]), entry([1.0], [1.0]), name=name), 0)

    def test_small_values_of_the_first_generation(self):
        small = lambda value, dtype="torch.float32": entry([1.0], [tensor(value, dtype=dtype) | {"Mean": 1.0}])
        self.assertEqual(self.index(small(5e-7), small(1e-7), "--result-schema", "g1"), 0)  # both below 1e-6, and what they differ
        self.assertEqual(self.index(small(5e-7), small(3e-6), "--result-schema", "g1"), 1)
        self.assertEqual(self.index(small(9e-4, "torch.bfloat16"), small(1e-4, "torch.bfloat16"), "--result-schema", "g1"), 0)
        self.assertEqual(self.index(small(5e-7), small(1e-7)), 1)

    def test_the_first_generation_remarks_on_small_values(self):
        row = lambda value: entry([1.0], [tensor(value)])
        self.index(row(5e-7), row(1e-7), "--result-schema", "g1")
        output = self.nodes[self.A]["output_data"][self.A + ".output.0"]
        self.assertEqual(output["MaxRelativeErr"], "400.0%, below 1e-06: see the absolute error")
        self.assertNotIn("see", output["MeanRelativeErr"])

    def test_collections_have_the_worst_of_their_calls(self):
        construct = {"Torch.a.0.forward": None, "Torch.b.0.forward": None}
        self.index({"Torch.a.0.forward": entry([1.0], [1.2]), "Torch.b.0.forward": entry([1.0], [1.5])},
                   {"Torch.a.0.forward": entry(), "Torch.b.0.forward": entry()}, construct=construct)
        self.assertAlmostEqual(self.nodes["Apis_Between_Modules.0"]["data"]["precision_index"], 0.5)

    def test_checksums(self):
        data = lambda a, b: entry([tensor(md5=a)], [tensor(md5=b)])
        self.assertEqual(self.index(data("00000001", "00000002"), data("00000001", "00000002")), 1)
        self.assertEqual(self.nodes[self.A]["data"]["Result"], "pass")
        self.assertEqual(self.index(data("00000001", "00000002"), data("00000009", "00000002")), 0)
        self.assertEqual(self.nodes[self.A]["data"]["Result"], "Different")

    def test_structures_have_none(self):
        bare = {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2]}], "input_kwargs": {}, "output": []}
        self.write("npu", {self.A: None}, {self.A: bare}, task="structure")
        self.write("bench", {self.A: None}, {self.A: bare}, task="structure")
        vis = self.graph("-tp", "npu", "-gp", "bench")
        self.assertEqual((vis["task"], vis["NPU"]["node"][self.A]["data"]), ("structure", {}))
        self.assertEqual(vis["NPU"]["node"][self.A]["matched_node_link"], ["DefaultModel", self.A])
        self.assertEqual(vis["NPU"]["node"][self.A]["input_data"][self.A + ".input.0"]["shape"], "[2]")

    def test_colours_of_the_generations(self):
        self.write("npu", {self.A: None})
        self.write("bench", {self.A: None})
        for schema, bands in (("g2", [[0, 0.2], [0.2, 0.4], [0.4, 0.6], [0.6, 0.8], [0.8, 1], []]), ("g3", [[0, 0.3], [0.3, 0.6], [0.6, 1], []])):
            vis = self.graph("-tp", "npu", "-gp", "bench", "--result-schema", schema)
            os.remove(glob.glob(self.path("out/*.vis"))[0])
            self.assertEqual([band["value"] for band in vis["Colors"].values()], bands)
            self.assertIsInstance(vis["ToolTip"], str)
            self.assertEqual(vis["task"], "summary")


class Overflows(Case):
    NAN, INF = float("nan"), float("inf")

    def level(self, inputs, outputs, name="Torch.a.0.forward", **more):
        self.write("npu", {name: None}, {name: entry(inputs, outputs, **more)})
        node = self.graph("-tp", "npu", "-oc")["node"][name]
        os.remove(glob.glob(self.path("out/*.vis"))[0])
        return node["data"].get("overflow_level")

    def test_where_it_begins(self):
        self.assertEqual(self.level([1.0], [self.NAN]), "critical")
        self.assertEqual(self.level([1.0], [-self.INF]), "critical")
        self.assertEqual(self.level([self.INF], [self.NAN]), "high")
        self.assertEqual(self.level([self.NAN], [1.0]), "medium")
        self.assertIsNone(self.level([1.0], [1.0]))
        self.assertEqual(self.level([1.0], [tensor() | {"Mean": self.NAN}]), "critical")
        self.assertIsNone(self.level([1.0], [tensor() | {"Norm": self.NAN}]))  # of Max, Min and Mean alone

    def test_norms_that_explode(self):
        norm = lambda value: tensor() | {"Norm": value}
        self.assertEqual(self.level([norm(1.0)], [norm(100.5)]), "high")
        self.assertIsNone(self.level([norm(1.0)], [norm(100.0)]))
        self.assertEqual(self.level([norm(0.0)], [norm(101.0)]), "high")
        self.assertIsNone(self.level([norm(0.0)], [norm(100.0)]))
        self.assertIsNone(self.level([norm(1.0), norm(50.0)], [norm(4000.0)]))  # the largest of the inputs
        self.assertIsNone(self.level([], [norm(4000.0)]))

    def test_what_may_hold_anything(self):
        self.assertIsNone(self.level([], [self.NAN], name="Torch.empty.0.forward"))
        self.assertIsNone(self.level([1.0], [self.NAN], name="Torch.EMPTY_LIKE.0.forward"))
        self.assertIsNone(self.level([self.NAN], [1.0], name="Distributed.all_gather.0.forward"))
        self.assertIsNone(self.level([self.NAN, 1.0], [1.0], name="Tensor.masked_fill_.0.forward"))
        self.assertEqual(self.level([self.NAN, self.NAN], [1.0], name="Distributed.recv.0.forward"), "medium")
        self.assertEqual(self.level([self.NAN], [self.NAN], name="Distributed.recv.0.forward"), "high")
        self.assertEqual(self.level([], [1.0, self.NAN], name="Torch.empty.0.forward"), "critical")  # not the first

    def test_keyword_buffers(self):
        kwargs = lambda key: {"input_kwargs": {key: tensor(self.NAN)}}
        self.assertIsNone(self.level([], [1.0], name="Distributed.recv.0.forward", **kwargs("tensor")))
        self.assertIsNone(self.level([], [1.0], name="Distributed.reduce_scatter.0.forward", **kwargs("output")))
        self.assertEqual(self.level([], [1.0], name="Distributed.recv.0.forward", **kwargs("other")), "medium")


class Hostile(Case):
    def test_a_full_disk_leaves_nothing(self):
        names = {f"Module.m{i}.M.forward.0": None for i in range(3000)}
        self.write("npu", names)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
        for form in ("vis", "db", "html"):
            done = self.run_graph("-tp", "npu", "--format", form, before=limit)
            if form == "html" and done.returncode == 0:
                continue  # compressed it fits
            self.assertEqual(done.returncode, 4 if done.returncode == 4 else 3, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 2 if "running as root" in done.stderr else 1, done.stderr)
            self.assertEqual(glob.glob(self.path("out/*")), [])

    def test_files_that_are_no_json(self):
        for name, text in (("dump.json", '{"task": "statistics", "data": {"a": '), ("construct.json", "[1]"), ("stack.json", '{"a": 3}')):
            self.write(name[:3], {"Module.m.M.forward.0": None}, raw={name: text})
            self.refused(name, "-tp", name[:3])

    def test_markup_stays_text(self):
        name = "Module.</script><script>alert(1)</script>.M.forward.0"
        self.write("npu", {name: None})
        done = self.run_graph("-tp", "npu", "--format", "html,vis")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(glob.glob(self.path("out/*.html"))[0], encoding="utf-8") as file:
            self.assertNotIn("alert(1)", file.read())
        with open(glob.glob(self.path("out/*.vis"))[0], encoding="utf-8") as file:
            self.assertIn(name, json.load(file)["node"])

    def test_a_chain_of_a_hundred_thousand(self):
        names = {f"Module.n.N.forward.{i}": f"Module.n.N.forward.{i - 1}" if i else None for i in range(100000)}
        self.write("npu", names, {})
        vis = self.graph("-tp", "npu")
        self.assertEqual(len(vis["node"]), 100001)
        self.assertEqual(vis["node"]["Module.n.N.forward.99999"]["upnode"], "Module.n.N.forward.99998")

    def test_a_rank_that_cannot_be_read_costs_its_own_graph(self):
        self.write("npu/rank0", {"Module.m.M.forward.0": None})
        self.write("npu/rank1", {"Module.m.M.forward.0": None}, raw={"dump.json": "{"})
        self.graph("-tp", "npu", pattern="build_rank0_*.vis")
        self.assertIn("it is left out", self.errors)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
