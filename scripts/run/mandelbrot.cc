// SPDX-License-Identifier: Apache-2.0
// C++ for `make run` to profile: draws the Mandelbrot set again and again, for argv[1] seconds.
#include <chrono>
#include <complex>
#include <cstdlib>
#include <vector>

namespace mandelbrot
{

constexpr int width = 160, height = 100, most_steps = 500;

// How long a point stays near; by hand, since std::complex looks for infinities at each step.
[[gnu::noinline]] int escape_time(std::complex<double> point)
{
	double x = 0, y = 0;
	int steps = 0;

	for (; steps < most_steps && x * x + y * y < 4; steps++) {
		double next = x * x - y * y + point.real();

		y = 2 * x * y + point.imag();
		x = next;
	}
	return steps;
}

[[gnu::noinline]] int draw_row(std::vector<int> &row, double y)
{
	int inside = 0;

	for (int i = 0; i < width; i++) {
		row[i] = escape_time({ i * 3.0 / width - 2, y });
		inside += row[i] == most_steps;
	}
	return inside;
}

[[gnu::noinline]] int draw_picture()
{
	std::vector<int> row(width);
	int inside = 0;

	for (int i = 0; i < height; i++)
		inside += draw_row(row, i * 2.0 / height - 1);
	return inside;
}

} // namespace mandelbrot

int main(int argc, char **argv)
{
	using clock = std::chrono::steady_clock;
	const auto end = clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 10);
	int inside = 0;

	while (clock::now() < end)
		inside |= mandelbrot::draw_picture();
	return inside ? EXIT_SUCCESS : EXIT_FAILURE;
}
