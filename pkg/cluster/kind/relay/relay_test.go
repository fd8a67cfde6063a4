package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// serve answers connections with do until the test ends, and returns where.
func serve(t *testing.T, do func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go do(conn.(*net.TCPConn))
		}
	}()
	return l.Addr().String()
}

func relayTo(t *testing.T, target string, lets func(netip.Addr) bool) *Relay {
	t.Helper()
	r, err := open(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), target, lets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func everybody(netip.Addr) bool { return true }

func dial(t *testing.T, r *Relay) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// spoken says something and returns how the connection ends, as early as that may be.
func spoken(t *testing.T, r *Relay) error {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// Both ways work, and each ends for itself: a client that has sent all still gets its answer.
func TestRelay(t *testing.T) {
	r := relayTo(t, serve(t, func(c *net.TCPConn) {
		defer c.Close()
		got, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, "got "+string(got))
	}), everybody)
	conn := dial(t, r)
	if _, err := io.WriteString(conn, "all of it"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "got all of it" {
		t.Errorf("%q, %v", got, err)
	}
}

// A vCenter that resets its connections, or is down, looks the same through the relay.
func TestRelayHandsResetsOn(t *testing.T) {
	reset := serve(t, func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 1))
		_ = c.SetLinger(0)
		c.Close()
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := l.Addr().String()
	l.Close()
	for name, target := range map[string]string{"resets": reset, "is down": down} {
		if err := spoken(t, relayTo(t, target, everybody)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRelayLetsOnlyInWhoMay(t *testing.T) {
	r := relayTo(t, serve(t, func(c *net.TCPConn) { c.Close() }), netip.MustParsePrefix("172.18.0.0/16").Contains)
	if err := spoken(t, r); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a stranger: %v", err)
	}
}

// Closing ends what runs, and returns when it has.
func TestRelayCloses(t *testing.T) {
	held := make(chan struct{})
	r := relayTo(t, serve(t, func(c *net.TCPConn) {
		close(held)
		_, _ = io.Copy(io.Discard, c)
	}), everybody)
	conn := dial(t, r)
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-held
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	if _, err := net.Dial("tcp", r.Addr().String()); err == nil {
		t.Error("the relay still listens")
	}
}

// said are what a runtime prints, by how its commands begin. Others print nothing.
type said map[string]string

func (s said) Run(_ context.Context, c runtime.Call) error {
	for begin, text := range s {
		if strings.HasPrefix(strings.Join(c.Args, " "), begin) && c.Stdout != nil {
			_, _ = io.WriteString(c.Stdout, text)
		}
	}
	return nil
}

// network is a runtime with the network "lab", this host in it at this address.
func network(gateway string) said {
	return said{
		"info": "Debian GNU/Linux 12\n", "network ls": "lab\n",
		"network inspect lab": `[{"IPAM":{"Config":[{"Subnet":"fc00:1::/64","Gateway":"fc00:1::1"},{"Subnet":"` + gateway + `/24","Gateway":"` + gateway + `"}]}}]`,
	}
}

func TestDoor(t *testing.T) {
	target := serve(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "vCenter")
		c.Close()
	})
	desktop := said{
		"info": "Docker Desktop\n", "ps": "web\n",
		"exec --privileged web getent ahostsv4 host.docker.internal":  "192.168.65.254 STREAM host.docker.internal\n192.168.65.254 DGRAM\n",
		"exec --privileged node getent ahostsv4 host.docker.internal": "192.168.65.253 STREAM host.docker.internal\n",
	}
	for name, tc := range map[string]struct {
		runtime   said
		network   string
		container string
		dial      string
		listens   string
	}{
		"a network of this machine": {network("127.0.0.3"), "lab", "", "127.0.0.3", "127.0.0.3"},
		"Docker Desktop":            {desktop, "lab", "", "192.168.65.254", "127.0.0.1"},
		"Docker Desktop, a node":    {desktop, "lab", "node", "192.168.65.253", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Find(t.Context(), runtime.With("docker", tc.runtime), tc.network, tc.container)
			if err != nil {
				t.Fatal(err)
			}
			if want := []netip.Addr{netip.MustParseAddr(tc.dial)}; !slices.Equal(d.Addresses(), want) {
				t.Errorf("for the certificate: %v", d.Addresses())
			}
			if _, err := d.Open(t.Context(), "nowhere", 0); err == nil {
				t.Error("a relay to nowhere")
			}
			r, err := d.Open(t.Context(), target, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := d.Open(t.Context(), target, r.Addr().Port()); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("a port that is taken: %v", err)
			}
			if r.Addr().Addr().String() != tc.dial {
				t.Errorf("containers dial %s", r.Addr())
			}
			conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr(tc.listens), r.Addr().Port()).String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got, err := io.ReadAll(conn); err != nil || string(got) != "vCenter" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestNoDoor(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime    said
		code, says string
	}{
		"no network":        {said{"info": "Debian\n"}, NoNetwork, "network lab does not exist"},
		"IPv6 alone":        {said{"info": "Debian\n", "network ls": "lab\n", "network inspect lab": `[{"IPAM":{"Config":[{"Subnet":"fc00:1::/64","Gateway":"fc00:1::1"}]}}]`}, Unreachable, "in a network namespace or VM"},
		"an empty network":  {said{"info": "Docker Desktop\n"}, NoNetwork, "has no containers"},
		"a name of nothing": {said{"info": "Docker Desktop\n", "ps": "web\n"}, Unreachable, "cannot resolve"},
	} {
		if _, err := Find(t.Context(), runtime.With("docker", tc.runtime), "lab", ""); !coded.Is(err, tc.code) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A gateway that is somewhere else, as with rootless runtimes.
	d, err := Find(t.Context(), runtime.With("docker", network("192.0.2.1")), "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), "127.0.0.1:1", 0); !coded.Is(err, Unreachable) || !strings.Contains(err.Error(), "in a network namespace or VM") {
		t.Errorf("rootless: %v", err)
	}
}
