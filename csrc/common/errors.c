/* SPDX-License-Identifier: PostgreSQL */
#include "common/common.h"

const char *pgq_strerror(pgq_code code)
{
    switch (code) {
#define PGQ_CODE(name, number, text)                                                                         \
    case name:                                                                                               \
        return text;
#include "codes.def"
#undef PGQ_CODE
    }
    return "not a pgquern status code";
}
