package gate

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// reserve prevents other processes from listening on an address while the gate does not: a bound socket that does not listen
// refuses connections like a free port. Close the result to release the address; it is nil if the address could not be reserved.
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
	// SO_REUSEADDR allows closed connections to linger, and would also allow other sockets to bind.
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
