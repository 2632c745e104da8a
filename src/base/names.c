#include <mobula/base.h>

/* The rules of k8s.io/apimachinery/pkg/util/validation. */
enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253 };

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z');
}

/* The label without its length: that of a subdomain's parts is not limited. */
static bool label_chars(struct slice s)
{
    if (slice_empty(s) || s.ptr[0] == '-' || s.ptr[s.len - 1] == '-')
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_lower(s.ptr[i]) && !is_digit(s.ptr[i]) && s.ptr[i] != '-')
            return false;
    return true;
}

bool name_dns1123_label(struct slice s)
{
    return s.len <= LABEL_MAX && label_chars(s);
}

bool name_dns1035_label(struct slice s)
{
    return name_dns1123_label(s) && is_lower(s.ptr[0]);
}

bool name_dns1123_subdomain(struct slice s)
{
    if (s.len > SUBDOMAIN_MAX || slice_ends(s, SLICE(".")))
        return false;
    do
        if (!label_chars(slice_cut(&s, '.')))
            return false;
    while (!slice_empty(s));
    return true;
}

bool name_dns_host(struct slice s)
{
    bool right = name_dns1123_subdomain(s);
    while (right && !slice_empty(s))
        right = slice_cut(&s, '.').len <= LABEL_MAX;
    return right;
}

static bool name_part(struct slice s)
{
    if (slice_empty(s) || s.len > LABEL_MAX || !is_alnum(s.ptr[0]) || !is_alnum(s.ptr[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.ptr[i]) && s.ptr[i] != '-' && s.ptr[i] != '_' && s.ptr[i] != '.')
            return false;
    return true;
}

bool name_qualified(struct slice s)
{
    if (slice_find(s, '/') < 0)
        return name_part(s);
    struct slice prefix = slice_cut(&s, '/');
    return name_dns1123_subdomain(prefix) && name_part(s);
}

bool name_label_value(struct slice s)
{
    return slice_empty(s) || name_part(s);
}
