package rpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/rpc"
)

// service is a Controller with the methods that a test needs.
type service struct {
	csi.UnimplementedControllerServer
	create func(context.Context, *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error)
}

func (s service) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	return s.create(ctx, r)
}

// log is a buffer that is safe for concurrent writes.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// forgetful drops the attributes of With, as klog's handler does.
type forgetful struct{ slog.Handler }

func (h forgetful) WithAttrs([]slog.Attr) slog.Handler { return h }

// serve runs a server until the test ends, or stop is called.
func serve(t *testing.T, cfg rpc.Config, s service) (client csi.ControllerClient, stop func()) {
	t.Helper()
	cfg.Endpoint = "unix://" + filepath.Join(t.TempDir(), "csi.sock")
	cfg.Register = func(r grpc.ServiceRegistrar) { csi.RegisterControllerServer(r, s) }
	server, err := rpc.Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.Close()
		if _, err := os.Lstat(server.Path()); !os.IsNotExist(err) {
			t.Errorf("the socket is left: %v", err)
		}
	})
	t.Cleanup(stop)
	c, err := grpc.NewClient(cfg.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return csi.NewControllerClient(c), stop
}

// A call is logged with its ids and without secrets, and counted with its code.
func TestCall(t *testing.T) {
	var out log
	counted := make(chan string, 1)
	client, _ := serve(t, rpc.Config{
		Logger:  slog.New(forgetful{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})}),
		Observe: func(method, code string, _ time.Duration) { counted <- method + " " + code },
	}, service{create: func(ctx context.Context, _ *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
		if d, ok := ctx.Deadline(); !ok || time.Until(d) > rpc.DefaultTimeout {
			t.Error("no deadline")
		}
		return &csi.CreateVolumeResponse{}, nil
	}})
	_, err := client.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "pvc-1", Secrets: map[string]string{"password": "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-counted; got != "CreateVolume OK" {
		t.Error(got)
	}
	text := out.String()
	if !strings.Contains(text, "method=CreateVolume") || !strings.Contains(text, "name=pvc-1") || !strings.Contains(text, "***stripped***") {
		t.Error(text)
	}
	if strings.Contains(text, "hunter2") {
		t.Error("the log has the secret")
	}
}

// A panic ends only its call.
func TestPanic(t *testing.T) {
	var out log
	client, _ := serve(t, rpc.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))},
		service{create: func(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
			if r.GetName() == "" {
				panic("nothing there")
			}
			return &csi.CreateVolumeResponse{}, nil
		}})
	_, err := client.CreateVolume(t.Context(), &csi.CreateVolumeRequest{})
	if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "nothing there") {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "server_test.go") {
		t.Errorf("no stack in %s", &out)
	}
	if _, err := client.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "v"}); err != nil {
		t.Error(err)
	}
}

// Every call has a timeout.
func TestBounded(t *testing.T) {
	client, _ := serve(t, rpc.Config{Timeout: 10 * time.Millisecond},
		service{create: func(ctx context.Context, _ *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}})
	_, err := client.CreateVolume(t.Context(), &csi.CreateVolumeRequest{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

// Calls in progress end before the server does.
func TestStop(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	client, stop := serve(t, rpc.Config{}, service{create: func(context.Context, *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
		close(began)
		<-release
		return &csi.CreateVolumeResponse{}, nil
	}})
	answered := make(chan error, 1)
	go func() {
		_, err := client.CreateVolume(t.Context(), &csi.CreateVolumeRequest{})
		answered <- err
	}()
	<-began
	close(release)
	stop()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestEndpoints(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	served := filepath.Join(dir, "served")
	other, err := net.Listen("unix", served)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, test := range []struct {
		endpoint, err string
	}{
		{"unix://" + filepath.Join(dir, "a"), ""},
		{"unix:" + filepath.Join(dir, "b"), ""},
		{filepath.Join(dir, "c"), ""},
		{"unix://" + stale, ""},
		{"", "not unix:///path"},
		{"unix://", "not unix:///path"},
		{"unix://relative.sock", "not unix:///path"},
		{"tcp://127.0.0.1:0", "not unix:///path"},
		{"unix:///" + strings.Repeat("x", 200), "use a shorter one"},
		{"unix://" + file, "not a socket"},
		{"unix://" + served, "another process serves it"},
		{"unix://" + filepath.Join(dir, "none", "x"), ""}, // its folder is made
		{"unix://" + filepath.Join(file, "x"), "not a directory"},
	} {
		t.Run(test.endpoint, func(t *testing.T) {
			s, err := rpc.Listen(t.Context(), rpc.Config{Endpoint: test.endpoint, Register: func(grpc.ServiceRegistrar) {}})
			switch {
			case err == nil:
				defer s.Close()
				if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
					t.Error(info, err)
				}
				fallthrough
			case test.err == "":
				if err != nil || test.err != "" {
					t.Errorf("%v, want %q", err, test.err)
				}
			case !strings.Contains(err.Error(), test.err):
				t.Errorf("%v, want %q", err, test.err)
			}
		})
	}
}
