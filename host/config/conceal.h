/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of components quote values: what came from a variable or a file does not show in them.
 */
#pragma once

struct yaml_node;

/*
 * Put "..." in the place of every piece of @message, of four bytes or more, that a concealed value
 * below @body has in it. In place, which never makes it longer. Pure.
 */
void conceal(const struct yaml_node *body, char *message);
