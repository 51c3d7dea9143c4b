"""Makes the .npy files beside it with NumPy, for tests/formats/test_npy.c. Elements as in
../pt/make.py. Run in this directory."""
import numpy as np

KINDS = {"f8": "float", "f4": "float", "f2": "float", "i8": "int", "i4": "int", "i2": "int",
         "i1": "int", "u1": "uint", "b1": "bool", "c8": "complex", "c16": "complex"}


def element(kind, i):
    n = (i * 7) % 11
    return {"float": (n - 3) / 8, "int": n - 3, "uint": n, "bool": n % 2 == 1,
            "complex": complex((n - 3) / 8, i - 5)}[kind]


def filled(descr, shape):
    values = [element(KINDS[descr], i) for i in range(int(np.prod(shape)))]
    return np.array(values, dtype=descr).reshape(shape)


def main():
    for descr in KINDS:
        np.save(f"{descr}.c.npy", filled(descr, (2, 3, 4)))
        np.save(f"{descr}.fortran.npy", np.asfortranarray(filled(descr, (2, 3, 4))))
        np.save(f"{descr}.big.npy", filled(descr, (5,)).astype(np.dtype(descr).newbyteorder(">")))
    np.save("f4.scalar.npy", filled("f4", ()))
    np.save("f4.empty.npy", filled("f4", (0, 3)))
    for version in [(2, 0), (3, 0)]:
        with open(f"f4.version{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, filled("f4", (2, 3)), version=version)
    np.save("other.object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.save("other.record.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
    np.save("other.text.npy", np.array(["a", "bc"]))
    np.save("other.u8.npy", np.zeros(2, dtype="u8"))


if __name__ == "__main__":
    main()
