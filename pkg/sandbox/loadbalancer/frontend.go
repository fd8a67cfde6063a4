package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// listenFunc opens a TCP listener.
type listenFunc func(netip.AddrPort) (net.Listener, error)

func listenTCP(at netip.AddrPort) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", at.String()) // it returns at once
}

const (
	// privileged is the first port that every user may listen at.
	privileged = 1024
	// raised is added to a port below: 80 becomes 8080, 443 becomes 8443.
	raised = 8000
	// hosts is how many addresses a block has.
	hosts = 254
)

// shared is the address that all Services have on a system with one loopback address.
var shared = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Errors of ports in the status of a Service.
const (
	errorProtocol = "ProtocolNotForwarded"
	errorMoved    = "PortMoved"
)

// frontend is the address of a Service and its listeners.
type frontend struct {
	uid   types.UID
	addr  netip.Addr
	ports map[int32]int // of the Service: the port where it answers
	all   []net.Listener

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// client is a connection to a port of a Service.
type client struct {
	net.Conn
	port int32
}

// tcpPorts lists the ports of a Service that are forwarded.
func tcpPorts(s *corev1.Service) (all []int32) {
	for _, p := range s.Spec.Ports {
		if p.Protocol == corev1.ProtocolTCP || p.Protocol == "" {
			all = append(all, p.Port)
		}
	}
	return all
}

// fits reports whether a frontend has the ports of a Service.
func (f *frontend) fits(s *corev1.Service) bool {
	want := tcpPorts(s)
	return len(want) == len(f.ports) && !slices.ContainsFunc(want, func(p int32) bool { _, ok := f.ports[p]; return !ok })
}

// inBlock reports whether an address is one of 127.1.block.0/24: all others are of vCenters, other sandboxes or other programs.
func inBlock(addr netip.Addr, block int) bool {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 1, byte(block), 0}), 24).Contains(addr)
}

// candidates lists the addresses that a Service may get: those of first that are in the block, then all others of it.
func candidates(first []netip.Addr, block int) []netip.Addr {
	all := slices.DeleteFunc(slices.Clone(first), func(a netip.Addr) bool { return !inBlock(a, block) })
	for host := range hosts {
		all = append(all, netip.AddrFrom4([4]byte{127, 1, byte(block), byte(host + 1)}))
	}
	return all
}

// listenFor opens the listeners of a Service at one address: the first one that is not taken and has all ports free.
func listenFor(s *corev1.Service, first []netip.Addr, taken map[netip.Addr]bool, block int, listen listenFunc) (*frontend, error) {
	ports := tcpPorts(s)
	for _, addr := range candidates(first, block) {
		if taken[addr] {
			continue
		}
		f, err := listenAt(addr, ports, listen, false)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, syscall.EADDRINUSE):
		case errors.Is(err, syscall.EADDRNOTAVAIL): // macOS has 127.0.0.1 alone unless there are aliases of lo0
			return listenAt(shared, ports, listen, true)
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("ports %s are in use on every address of 127.1.%d.0/24", join(ports), block)
}

// listenAt opens listeners at an address. A port that needs privileges is replaced by one that does not; where moving is set, also
// one that is in use.
func listenAt(addr netip.Addr, ports []int32, listen listenFunc, moving bool) (_ *frontend, err error) {
	f := &frontend{addr: addr, ports: map[int32]int{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	for _, port := range ports {
		tries := []int{int(port)}
		if port < privileged {
			tries = append(tries, int(port)+raised)
		}
		if moving {
			tries = append(tries, 0)
		}
		var l net.Listener
		for i, at := range tries {
			l, err = listen(netip.AddrPortFrom(addr, uint16(at)))
			denied, used := errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EADDRINUSE)
			if err == nil || i == len(tries)-1 || !denied && !(used && moving) {
				break
			}
		}
		if err != nil {
			return nil, err
		}
		f.all = append(f.all, l)
		f.ports[port] = l.Addr().(*net.TCPAddr).Port // of the network "tcp"
	}
	return f, nil
}

// serve accepts connections until the frontend is closed.
func (f *frontend) serve(handle func(context.Context, client)) {
	port := map[int]int32{}
	for of, at := range f.ports {
		port[at] = of
	}
	for _, l := range f.all {
		f.running.Go(func() { f.accept(l, port[l.Addr().(*net.TCPAddr).Port], handle) })
	}
}

// acceptPause is the wait when a connection cannot be accepted, mostly for lack of file descriptors.
const acceptPause = 20 * time.Millisecond

func (f *frontend) accept(l net.Listener, port int32, handle func(context.Context, client)) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			f.running.Go(func() {
				defer c.Close()
				defer context.AfterFunc(f.ctx, func() { _ = c.Close() })()
				handle(f.ctx, client{c, port})
			})
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-time.After(acceptPause):
			case <-f.ctx.Done():
				return
			}
		}
	}
}

// close closes listeners and connections, and waits for them.
func (f *frontend) close() {
	f.cancel()
	for _, l := range f.all {
		_ = l.Close()
	}
	f.running.Wait()
}

// status is what the Service's status says.
func (f *frontend) status(s *corev1.Service) corev1.LoadBalancerStatus {
	mode := corev1.LoadBalancerIPModeProxy // no node takes the address for its own
	i := corev1.LoadBalancerIngress{IP: f.addr.String(), IPMode: &mode}
	flawed := false
	for _, p := range s.Spec.Ports {
		status := corev1.PortStatus{Port: p.Port, Protocol: p.Protocol}
		switch at, ok := f.at(p); {
		case !ok:
			status.Error = new(errorProtocol)
		case at != int(p.Port):
			status.Error = new(errorMoved)
		}
		flawed = flawed || status.Error != nil
		i.Ports = append(i.Ports, status)
	}
	if !flawed {
		i.Ports = nil
	}
	return corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{i}}
}

// at returns where a port of the Service answers; false if nothing forwards it.
func (f *frontend) at(p corev1.ServicePort) (port int, ok bool) {
	if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" {
		return 0, false
	}
	port, ok = f.ports[p.Port]
	return port, ok
}

// text says where the Service answers.
func (f *frontend) text(s *corev1.Service) string {
	var places []string
	for _, p := range s.Spec.Ports {
		if at, ok := f.at(p); ok {
			places = append(places, netip.AddrPortFrom(f.addr, uint16(at)).String())
		}
	}
	if len(places) == 0 {
		return "has address " + f.addr.String()
	}
	return "answers at " + strings.Join(places, ", ")
}

// problems lists what does not answer where a client would expect it.
func (f *frontend) problems(s *corev1.Service) (all []string) {
	for _, p := range s.Spec.Ports {
		switch at, ok := f.at(p); {
		case !ok:
			all = append(all, fmt.Sprintf("port %d/%s does not answer: only TCP is forwarded from this machine", p.Port, p.Protocol))
		case at != int(p.Port) && p.Port < privileged:
			all = append(all, fmt.Sprintf("port %d answers at %d: this user may not listen below %d. Use port %[2]d, or on Linux: sudo sysctl net.ipv4.ip_unprivileged_port_start=%[1]d",
				p.Port, at, privileged))
		case at != int(p.Port):
			all = append(all, fmt.Sprintf("port %d answers at %d: another Service has it, and this system has one loopback address", p.Port, at))
		}
	}
	return all
}

func join(ports []int32) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ports)), ", "), "[]")
}
