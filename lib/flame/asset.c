// SPDX-License-Identifier: Apache-2.0
/* The page in the program: what lib/flame/page/ is bundled to, byte by byte. */
#include "flame.h"

#ifdef PROFCOL_PAGE_SCRIPT

#define EMBED(name, path)                                                                          \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #name "_begin\n" #name "_begin:\n"                                      \
		".incbin \"" path "\"\n"                                                           \
		".global " #name "_end\n" #name "_end:\n"                                          \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char name##_begin[] __attribute__((visibility("hidden")));                    \
	extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(profcol_page_script, PROFCOL_PAGE_SCRIPT);
EMBED(profcol_page_style, PROFCOL_PAGE_STYLE);

struct profcol_text flame_asset(enum flame_asset asset)
{
	if (asset == FLAME_SCRIPT)
		return (struct profcol_text){
			profcol_page_script_begin,
			(size_t)(profcol_page_script_end - profcol_page_script_begin),
		};
	return (struct profcol_text){
		profcol_page_style_begin,
		(size_t)(profcol_page_style_end - profcol_page_style_begin),
	};
}

#else

struct profcol_text flame_asset(enum flame_asset asset)
{
	(void)asset;
	return (struct profcol_text){ 0 };
}

#endif
