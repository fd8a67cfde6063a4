package gate

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// reserve keeps an address from being listened on by others while nobody is to be there: a socket that is bound and does
// not listen, so connections are refused as on a free port. What it returns gives the address back when it is closed; nil
// when it could not be reserved.
func reserve(addr *net.TCPAddr) *os.File {
	domain, sockaddr := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())})
	if ip := addr.IP.To4(); ip != nil {
		domain, sockaddr = unix.AF_INET, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	}
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), addr.String())
	// Connections that were just closed are in the way without the option, and with it others would not be kept away.
	for _, err := range []error{
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(fd, sockaddr),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 0),
	} {
		if err != nil {
			_ = f.Close()
			return nil
		}
	}
	return f
}
