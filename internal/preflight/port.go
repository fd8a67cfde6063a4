package preflight

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
)

func checkPorts(ctx context.Context, m Machine, need Need) []Finding {
	var taken []Finding
	check := func(addresses []string, n, port int, try string) {
		err := m.Listen(ctx, addresses, n, port)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return // another error is of the loopback check, or of the boot, which has words for it
		}
		var everywhere *loopback.PortError
		var one *net.OpError
		f := Finding{Check: Ports, Verdict: Fail, Message: err.Error(), Try: try}
		switch {
		case errors.As(err, &everywhere):
			f.Message = err.Error() + m.holders(netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(everywhere.Port)))
		case errors.As(err, &one) && one.Addr != nil:
			if address, perr := netip.ParseAddrPort(one.Addr.String()); perr == nil {
				f.Message = fmt.Sprintf("%s is in use%s", address, m.holders(address))
			}
		}
		taken = append(taken, f)
	}
	if need.VCenters > 0 {
		try := "--vcenter-port 0   # any free one"
		if len(need.Addresses) > 0 {
			try = "--listen 127.0.0.1:0   # any free one"
		}
		check(need.Addresses, need.VCenters, need.VCenterPort, try)
	}
	if need.APIPort > 0 {
		check([]string{net.JoinHostPort("127.0.0.1", strconv.Itoa(need.APIPort))}, 1, 0, "--api-port 0   # any free one")
	}
	if len(taken) == 0 {
		return one(Finding{Check: Ports, Verdict: Pass, Message: "the ports are free"})
	}
	return taken
}

// holders says which processes listen at an address, as ", by nginx (process 4711)"; "" when that cannot be read.
func (m Machine) holders(address netip.AddrPort) string {
	sockets := map[string]bool{}
	for _, file := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		text, _ := fs.ReadFile(m.FS, file) // without it nothing is known
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" { // TCP_LISTEN
				continue
			}
			if at, ok := parse(fields[1]); ok && at.Port() == address.Port() && (at.Addr().IsUnspecified() || at.Addr() == address.Addr()) {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	var names []string
	entries, _ := fs.ReadDir(m.FS, "proc")
	for _, e := range entries {
		dir := path.Join("proc", e.Name())
		files, _ := fs.ReadDir(m.FS, dir+"/fd") // another user's are not shown
		for _, f := range files {
			if to, err := fs.ReadLink(m.FS, dir+"/fd/"+f.Name()); err == nil && sockets[to] && e.Name() != "self" && e.Name() != "thread-self" {
				name, _ := fs.ReadFile(m.FS, dir+"/comm")
				names = append(names, fmt.Sprintf("%s (process %s)", printable(string(name)), e.Name()))
				break
			}
		}
	}
	if len(names) == 0 {
		return ", by a process of another user"
	}
	slices.Sort(names)
	return ", by " + strings.Join(names, ", ")
}

// printable is the name of a process, which it chooses itself, without what a terminal would obey.
func printable(name string) string {
	return strings.Trim(strconv.QuoteToASCII(strings.TrimSpace(name)), `"`)
}

// parse reads an address of /proc/net/tcp: "0100007F:1F90", in which the bytes of each four are the machine's.
func parse(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 { // Linux on amd64 and arm64 is little-endian
		slices.Reverse(b[i : i+4])
	}
	address, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(address.Unmap(), uint16(n)), ok
}
