// The blocks of data in the page: base64 of zlib streams, decoded when somebody asks for one.
// pages/page.h says how they are written.

function bytes_of_base64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

export async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The bytes of block `name` of this document.
export async function block_bytes(name) {
    const holder = document.getElementById(`block-${name}`);
    if (!holder) throw new Error(`block ${name} is missing: the file was cut short`);
    return inflate(bytes_of_base64(holder.textContent));
}

// The description of all blocks.
export async function block_meta() {
    return JSON.parse(new TextDecoder().decode(await block_bytes("meta")));
}
