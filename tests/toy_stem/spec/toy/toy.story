\* SPDX-License-Identifier: PostgreSQL

module toy
Look STEP | search -> array | looks at element {seen'}, {array[seen']}: the largest so far is {largest'}
