package loadbalancer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
)

// soon is more than anything here takes.
const soon = 30 * time.Second

// block is one that no sandbox of this machine uses.
const block = 251

func service(name string, edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid"},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Name: "http", Port: 18080, Protocol: corev1.ProtocolTCP}},
		},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// start returns a running balancer over objects.
func start(t *testing.T, b *Balancer, services ...*corev1.Service) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset()
	for _, s := range services {
		if err := client.Tracker().Add(s); err != nil {
			t.Fatal(err)
		}
	}
	b.Client = func() kubernetes.Interface { return client }
	b.Block = func() int { return block }
	b.Log, b.Logger, b.Background = event.NewLog(0), slog.New(slog.DiscardHandler), &background.Groups{}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// await returns a Service as soon as it is what is wanted.
func await(t *testing.T, client *fake.Clientset, name string, want func(*corev1.Service) bool) *corev1.Service {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	w, err := client.CoreV1().Services("shop").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	s, err := client.CoreV1().Services("shop").Get(ctx, name, metav1.GetOptions{})
	for err == nil && !want(s) {
		select {
		case e := <-w.ResultChan():
			if changed, ok := e.Object.(*corev1.Service); ok && e.Type != watch.Deleted && changed.Name == name {
				s = changed
			}
		case <-ctx.Done():
			t.Fatalf("%s has status %+v", name, s.Status.LoadBalancer)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hasAddress(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) > 0 }

func endpoints(t *testing.T, client *fake.Clientset, ready bool) {
	t.Helper()
	node := "worker-1"
	_, err := client.DiscoveryV1().EndpointSlices("shop").Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		Ports:      []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(80))}, {Name: new("other"), Port: new(int32(81))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.244.1.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, NodeName: &node,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// get requests a page of the Service.
func get(t *testing.T, s *corev1.Service) (status int, body string) {
	t.Helper()
	at := net.JoinHostPort(s.Status.LoadBalancer.Ingress[0].IP, fmt.Sprint(s.Spec.Ports[0].Port))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/cart", strings.NewReader("one apple"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Timeout: soon, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// A connection goes to a ready pod, and a page answers where that is not possible.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		ready, none bool
		dial        func(context.Context, endpoint) (net.Conn, error)
		status      int
		want        string
	}{
		"a pod that listens": {ready: true, dial: pod(func(c net.Conn) {
			req, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			text := req.URL.Path + " has " + string(body)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}), status: 200, want: "/cart has one apple"},
		"nothing listens": {ready: true, dial: func(context.Context, endpoint) (net.Conn, error) {
			return refusing{errors.New("connect to port 80: connection refused: nothing listens there")}, nil
		}, status: 200, want: "belongs to pod web-0 (10.244.1.2:80) on node worker-1.\n\nThe sandbox answers"},
		"a light node": {ready: true, dial: func(context.Context, endpoint) (net.Conn, error) {
			return nil, fmt.Errorf("%w: its node is a light one", errNothing)
		}, status: 200, want: "on node worker-1"},
		"a node that is off": {ready: true, dial: func(context.Context, endpoint) (net.Conn, error) {
			return nil, errors.New("VM worker-1 is off")
		}, status: 502, want: "It was not reached: VM worker-1 is off"},
		"not ready": {status: 503, want: "Service shop/web, port 18080: no pod behind it is ready"},
		"no pods":   {none: true, status: 503, want: "no pod behind it is ready"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Balancer{dial: tc.dial}
			client := start(t, b, service("web"))
			s := await(t, client, "web", hasAddress)
			if !tc.none {
				endpoints(t, client, tc.ready)
				for deadline := time.Now().Add(soon); tc.ready && len(b.endpoints(s, "http")) == 0; {
					if time.Now().After(deadline) {
						t.Fatal("the endpoints do not arrive")
					}
				}
			}
			if status, body := get(t, s); status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("status %d:\n%s", status, body)
			}
		})
	}
}

// pod returns a dial function for a pod whose program is f.
func pod(f func(net.Conn)) func(context.Context, endpoint) (net.Conn, error) {
	return func(_ context.Context, e endpoint) (net.Conn, error) {
		if e.pod != "web-0" || e.namespace != "shop" || e.node != "worker-1" || e.port != 80 {
			return nil, fmt.Errorf("endpoint %+v", e)
		}
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			f(theirs)
		}()
		return ours, nil
	}
}

// refusing is a connection that an error has ended.
type refusing struct{ err error }

func (r refusing) Read([]byte) (int, error)         { return 0, r.err }
func (r refusing) Write([]byte) (int, error)        { return 0, r.err }
func (refusing) Close() error                       { return nil }
func (refusing) LocalAddr() net.Addr                { return nil }
func (refusing) RemoteAddr() net.Addr               { return nil }
func (refusing) SetDeadline(time.Time) error        { return nil }
func (refusing) SetReadDeadline(t time.Time) error  { return nil }
func (refusing) SetWriteDeadline(t time.Time) error { return nil }

// Services of others are left alone, and every other one has its own address.
func TestAddresses(t *testing.T) {
	foreign := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	}
	mode := corev1.LoadBalancerIPModeProxy
	earlier := func(s *corev1.Service) { // of an earlier process
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("127.1.%d.1", block), IPMode: &mode}}
	}
	client := start(t, &Balancer{},
		service("a-class", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/lb") }),
		service("a-foreign", foreign), service("a-plain", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }),
		service("first"), service("kept", earlier),
		service("wished", func(s *corev1.Service) { s.Spec.LoadBalancerIP = fmt.Sprintf("127.1.%d.77", block) }),
		service("wished-other", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "127.0.0.11" }), // it may be a vCenter's
	)
	got := map[string]string{}
	for _, name := range []string{"first", "kept", "wished", "wished-other"} {
		s := await(t, client, name, func(s *corev1.Service) bool { return hasAddress(s) })
		got[name] = s.Status.LoadBalancer.Ingress[0].IP
	}
	if ip := got["wished-other"]; !inBlock(netip.MustParseAddr(ip), block) {
		t.Errorf("wished-other has %s", ip)
	}
	awaitNote(t, client, "spec.loadBalancerIP 127.0.0.11 was not given: the addresses of this sandbox are those of 127.1.251.0/24")
	for name, ip := range map[string]string{"first": "127.1.251.2", "kept": "127.1.251.1", "wished": "127.1.251.77"} {
		if got[name] != ip {
			t.Errorf("%s has %s, want %s", name, got[name], ip)
		}
	}
	for _, name := range []string{"a-class", "a-foreign", "a-plain"} {
		s, err := client.CoreV1().Services("shop").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(s.Status.LoadBalancer.Ingress) > 0 && s.Status.LoadBalancer.Ingress[0].IP != "192.0.2.1" {
			t.Errorf("%s: %+v, %v", name, s.Status.LoadBalancer, err)
		}
	}
	// It is no load balancer any more.
	s := await(t, client, "first", hasAddress)
	s.Spec.Type = corev1.ServiceTypeClusterIP
	if _, err := client.CoreV1().Services("shop").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, client, "first", func(s *corev1.Service) bool { return !hasAddress(s) })
	if c, err := net.DialTimeout("tcp", "127.1.251.2:18080", time.Second); err == nil {
		t.Errorf("something still listens: %v", c.Close())
	}
}

// A port that the user may not listen at moves, and one that is in use sends the Service to the next address.
func TestListen(t *testing.T) {
	web := service("web", func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{
			{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
		}
	})
	one := netip.MustParseAddr("127.1.9.1")
	for name, tc := range map[string]struct {
		refuse func(netip.AddrPort) error
		addr   string
		ports  map[int32]int
	}{
		"root":                 {func(netip.AddrPort) error { return nil }, "127.1.9.1", map[int32]int{80: 80}},
		"in use":               {func(a netip.AddrPort) error { return when(a.Addr() == one, syscall.EADDRINUSE) }, "127.1.9.2", map[int32]int{80: 80}},
		"no privileges":        {func(a netip.AddrPort) error { return when(a.Port() < 1024, syscall.EACCES) }, "127.1.9.1", map[int32]int{80: 8080}},
		"one loopback address": {func(a netip.AddrPort) error { return when(a.Addr() != shared, syscall.EADDRNOTAVAIL) }, "127.0.0.1", map[int32]int{80: 80}},
		"one, and in use": {func(a netip.AddrPort) error {
			if a.Addr() != shared {
				return syscall.EADDRNOTAVAIL
			}
			return when(a.Port() != 0, syscall.EADDRINUSE)
		}, "127.0.0.1", map[int32]int{80: 4711}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := listenFor(web, nil, nil, 9, func(a netip.AddrPort) (net.Listener, error) {
				if err := tc.refuse(a); err != nil {
					return nil, err
				}
				port := int(a.Port())
				if port == 0 {
					port = 4711
				}
				return listener{net.TCPAddr{IP: a.Addr().AsSlice(), Port: port}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer f.close()
			if diff := cmp.Diff(tc.ports, f.ports); diff != "" || f.addr.String() != tc.addr {
				t.Errorf("%s, ports (-want +got):\n%s", f.addr, diff)
			}
			status := f.status(web).Ingress[0].Ports
			if len(status) != 2 || status[1].Error == nil || *status[1].Error != errorProtocol || (status[0].Error != nil) != (tc.ports[80] != 80) {
				t.Errorf("status %+v", status)
			}
			problems := strings.Join(f.problems(web), "\n")
			if !strings.Contains(problems, "port 53/UDP does not answer") || strings.Contains(problems, "port 80 answers at") != (tc.ports[80] != 80) {
				t.Errorf("problems:\n%s", problems)
			}
		})
	}
	if _, err := listenFor(web, nil, nil, 9, func(netip.AddrPort) (net.Listener, error) { return nil, syscall.EADDRINUSE }); err == nil ||
		!strings.Contains(err.Error(), "ports 80 are in use on every address of 127.1.9.0/24") {
		t.Errorf("error %v", err)
	}
}

func when(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}

// listener is one without clients.
type listener struct{ at net.TCPAddr }

func (listener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (listener) Close() error              { return nil }
func (l listener) Addr() net.Addr          { return &l.at }
