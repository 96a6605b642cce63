// SPDX-License-Identifier: Apache-2.0

module golang_work

go 1.19
