// A few CUDA kernels as a kernel engineer would write them first, with C functions that launch
// them. All pointers are device pointers; every function returns a cudaError_t (0 is success).
#include <cuda_runtime.h>
#include <stdint.h>

enum { BLOCK = 256 };

// --- elementwise ----------------------------------------------------------------------------------

typedef float (*function)(float);

__device__ static float exp_of(float x) { return expf(x); }
__device__ static float tanh_of(float x) { return tanhf(x); }
__device__ static float sigmoid_of(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ static float gelu_of(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

template <function F> __global__ void elementwise(size_t n, const float *x, float *y)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = F(x[i]);
}

template <function F> static int launch(size_t n, const float *x, float *y)
{
    if (n) elementwise<F><<<(unsigned)((n + BLOCK - 1) / BLOCK), BLOCK>>>(n, x, y);
    cudaError_t error = cudaGetLastError();
    return error ? error : cudaDeviceSynchronize();
}

extern "C" int example_exp(size_t n, const float *x, float *y) { return launch<exp_of>(n, x, y); }
extern "C" int example_tanh(size_t n, const float *x, float *y) { return launch<tanh_of>(n, x, y); }
extern "C" int example_sigmoid(size_t n, const float *x, float *y)
{
    return launch<sigmoid_of>(n, x, y);
}
extern "C" int example_gelu(size_t n, const float *x, float *y) { return launch<gelu_of>(n, x, y); }

// --- rows: one block for each ----------------------------------------------------------------------

// The sum or maximum over a block, for all its threads.
template <bool MAXIMUM> __device__ static float reduce(float value)
{
    __shared__ float lanes[BLOCK];
    lanes[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float a = lanes[threadIdx.x], b = lanes[threadIdx.x + half];
            lanes[threadIdx.x] = MAXIMUM ? fmaxf(a, b) : a + b;
        }
        __syncthreads();
    }
    float result = lanes[0];
    __syncthreads();
    return result;
}

__global__ void softmax_rows(int columns, const float *x, float *y)
{
    x += (size_t)blockIdx.x * columns;
    y += (size_t)blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        largest = fmaxf(largest, x[i]);
    largest = reduce<true>(largest);
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        sum += expf(x[i] - largest);
    sum = reduce<false>(sum);
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        y[i] = expf(x[i] - largest) / sum;
}

__global__ void layer_norm_rows(int columns, const float *x, const float *weight,
                                const float *bias, float *y, float eps)
{
    x += (size_t)blockIdx.x * columns;
    y += (size_t)blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        sum += x[i];
    float mean = reduce<false>(sum) / columns;
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        squares += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(reduce<false>(squares) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        y[i] = (x[i] - mean) * scale * (weight ? weight[i] : 1.0f) + (bias ? bias[i] : 0.0f);
}

extern "C" int example_softmax(int rows, int columns, const float *x, float *y)
{
    if (rows) softmax_rows<<<rows, BLOCK>>>(columns, x, y);
    cudaError_t error = cudaGetLastError();
    return error ? error : cudaDeviceSynchronize();
}

extern "C" int example_layer_norm(int rows, int columns, const float *x, const float *weight,
                                  const float *bias, float *y, float eps)
{
    if (rows) layer_norm_rows<<<rows, BLOCK>>>(columns, x, weight, bias, y, eps);
    cudaError_t error = cudaGetLastError();
    return error ? error : cudaDeviceSynchronize();
}
