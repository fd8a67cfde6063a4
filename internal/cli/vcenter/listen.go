package vcenter

import (
	"net"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// addresses are where n vCenters listen, when the first ones are told: those that are not get free ports beside the last.
// None are told when none are given.
func addresses(given []string, n int) ([]string, error) {
	if len(given) > n {
		return nil, report.UsageError("--listen 127.0.0.1:0, at most once for each", "--listen is there %d times, and vCenters %d", len(given), n)
	}
	var last string
	all := make([]string, 0, n)
	for _, one := range given {
		host, port, err := net.SplitHostPort(one)
		number, bad := strconv.Atoi(port)
		if err != nil || bad != nil || number < 0 || number > 65535 {
			return nil, report.UsageError("--listen 127.0.0.1:8989", "--listen %s: want an address and a port", one)
		}
		// It is in the URL that clients get, and in the certificate.
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return nil, report.UsageError("--listen 127.0.0.1:"+port, "--listen %s: want the one address that clients are to use", one)
		}
		last = host
		all = append(all, one)
	}
	for len(given) > 0 && len(all) < n {
		all = append(all, net.JoinHostPort(last, "0"))
	}
	return all, nil
}
