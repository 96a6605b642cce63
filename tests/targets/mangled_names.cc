// SPDX-License-Identifier: Apache-2.0
// Burns CPU in functions whose symbols are mangled: C++ by its compiler, Rust (the legacy
// scheme and v0) by names that rustc would give. Runs until it is killed.
#include <cstdint>
#include <csignal>
#include <sys/prctl.h>

#define FRAME __attribute__((noinline, noclone))

static void work()
{
	uint64_t x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < 200000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

namespace shop
{
template <typename T> class basket
{
    public:
	FRAME void weigh(T)
	{
		work();
		__asm__ volatile("");
	}
};
} // namespace shop

extern "C" {
FRAME void rust_legacy() __asm__("_ZN6market5stall4sell17h0123456789abcdefE");
FRAME void rust_v0() __asm__("_RNvNtCs7dsHVH2NXQ8_6harbor4dock6unload");
void rust_legacy()
{
	work();
	__asm__ volatile("");
}
void rust_v0()
{
	work();
	__asm__ volatile("");
}
}

int main()
{
	shop::basket<long> basket;

	// Whoever runs this may be killed: do not burn on.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		basket.weigh(1);
		rust_legacy();
		rust_v0();
	}
}
