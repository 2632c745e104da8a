/* The formats of records: tests/data/dns/formats.case. */
#include "found.h"

int main(void)
{
    run_cases("tests/data/dns/formats.case", found_run);
    return test_done();
}
