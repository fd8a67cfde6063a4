package ccm

import (
	"context"
	"strings"
)

// otherVersions names the versions nearest to one that there is not; "" when the module proxy does not tell.
func (o Options) otherVersions(ctx context.Context, version string) string {
	versions := o.toolchain().Versions(ctx, module)
	if len(versions) == 0 {
		return ""
	}
	return "module:" + strings.Join(nearestVersions(versions, version, 4), ", module:")
}

// nearestVersions returns the most versions of the same minor release, else the newest ones, in their order.
func nearestVersions(versions []string, version string, most int) []string {
	parts := strings.SplitN(version, ".", 3)
	minor := parts[0] + "." + parts[1] + "."
	var same []string
	for _, v := range versions {
		if strings.HasPrefix(v, minor) {
			same = append(same, v)
		}
	}
	if len(same) == 0 {
		same = versions
	}
	return same[max(0, len(same)-most):]
}
