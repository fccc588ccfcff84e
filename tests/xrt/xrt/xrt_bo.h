// See fake.h.
#include "fake.h"
