// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <nettle/sha2.h>

/* Of an inline script or style, as a Content-Security-Policy names it. */
static void write_hash(FILE *stream, struct profcol_text text)
{
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char base64[STRINGS_BASE64_SIZE(SHA256_DIGEST_SIZE)];

	sha256_init(&context);
	sha256_update(&context, text.length, (const uint8_t *)text.bytes);
	sha256_digest(&context, sizeof(digest), digest);
	strings_base64(base64, digest, sizeof(digest));
	fprintf(stream, "'sha256-%s'", base64);
}

struct profcol_error *flame_write_html(struct flame *flame,
				       const struct flame_json_settings *settings, FILE *stream)
{
	struct profcol_text script = flame_asset(FLAME_SCRIPT), style = flame_asset(FLAME_STYLE);
	struct profcol_error *error;

	if (!script.bytes || !style.bytes)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"this program was built without the page; build it with "
			"-DPROFCOL_PAGE=ON, or ask for a picture (.svg)");
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "base-uri 'none'; form-action 'none'; script-src ",
	      stream);
	write_hash(stream, script);
	fputs("; style-src ", stream);
	write_hash(stream, style);
	fputs("\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<title>profcol</title>\n<style>",
	      stream);
	fwrite(style.bytes, 1, style.length, stream);
	fputs("</style></head>\n<body><script type=\"application/json\" id=\"data\">", stream);
	error = flame_write_json(flame, settings, stream);
	if (error)
		return error;
	fputs("</script>\n<script>", stream);
	fwrite(script.bytes, 1, script.length, stream);
	fputs("</script></body></html>\n", stream);
	return NULL;
}
