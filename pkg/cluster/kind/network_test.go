package kind

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// The network is the one that kind takes.
func TestNetwork(t *testing.T) {
	t.Setenv("KIND_EXPERIMENTAL_DOCKER_NETWORK", "lab")
	t.Setenv("KIND_EXPERIMENTAL_PODMAN_NETWORK", "")
	for name, want := range map[string]string{"docker": "lab", "podman": "kind", "nerdctl": "kind"} {
		if got := Network(runtime.New(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

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

func relayTo(t *testing.T, target string, lets func(netip.Addr) bool) *relay {
	t.Helper()
	r, err := newRelay(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), target, lets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.close() })
	return r
}

func everybody(netip.Addr) bool { return true }

func dial(t *testing.T, r *relay) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr().String())
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
func spoken(t *testing.T, r *relay) error {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr().String())
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
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
	if _, err := net.Dial("tcp", r.addr().String()); err == nil {
		t.Error("the relay still listens")
	}
}

func TestExpose(t *testing.T) {
	network := func(gateway string) map[string]string {
		return map[string]string{
			"info": "Debian GNU/Linux 12\n", "network ls": "kind\n",
			"network inspect kind": `[{"IPAM":{"Config":[{"Subnet":"fc00:1::/64","Gateway":"fc00:1::1"},{"Subnet":"` + gateway + `/24","Gateway":"` + gateway + `"}]}}]`,
		}
	}
	target := serve(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "vCenter")
		c.Close()
	})
	// A gateway of this machine's own.
	c, _, _ := fakedCluster(t, network("127.0.0.3"))
	defer c.Close()
	at, err := c.Expose(t.Context(), target)
	if err != nil || at.Addr().String() != "127.0.0.3" {
		t.Fatalf("%v, %v", at, err)
	}
	conn, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != "vCenter" {
		t.Errorf("%q, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	// A gateway that is somewhere else, as with rootless runtimes.
	c, _, _ = fakedCluster(t, network("192.0.2.1"))
	if _, err := c.Expose(t.Context(), target); !coded.Is(err, Unreachable) || !strings.Contains(err.Error(), "in a network namespace or VM") {
		t.Errorf("rootless: %v", err)
	}
	// Docker Desktop's virtual machine.
	c, _, _ = fakedCluster(t, map[string]string{
		"info": "Docker Desktop\n",
		"exec --privileged vsphere-sandbox-demo-control-plane getent ahostsv4 host.docker.internal": "192.168.65.254 STREAM host.docker.internal\n192.168.65.254 DGRAM\n",
	})
	defer c.Close()
	at, err = c.Expose(t.Context(), target)
	if err != nil || at.Addr().String() != "192.168.65.254" || at.Port() != c.relays[0].addr().Port() || !c.relays[0].addr().Addr().IsLoopback() {
		t.Errorf("desktop: %v, %v", at, err)
	}
	if _, err := c.Expose(t.Context(), "nowhere"); err == nil {
		t.Error("exposed nowhere")
	}
	c, _, _ = fakedCluster(t, map[string]string{"info": "Debian\n"})
	if _, err := c.Expose(t.Context(), target); err == nil || !strings.Contains(err.Error(), "create the cluster first") {
		t.Errorf("no network: %v", err)
	}
}
