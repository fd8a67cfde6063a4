package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// processArgs, in the environment, makes the test binary a cloud controller manager: a process can have one, and it exits when it
// loses the lead.
const processArgs = "PROVIDER_TEST_RUN"

func TestMain(m *testing.M) {
	if args := os.Getenv(processArgs); args != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := Run(ctx, strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fewObjects is an API server with Leases and no other object.
func fewObjects(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	leases := map[string][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, kind, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api"), "/v1/")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		lease := strings.Contains(r.URL.Path, "/leases")
		switch {
		case r.URL.Query().Get("watch") != "":
			mu.Unlock()
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			mu.Lock()
		case lease && r.Method == http.MethodPost, lease && r.Method == http.MethodPut:
			leases["lease"] = body
			_, _ = w.Write(body)
		case lease && leases["lease"] != nil:
			_, _ = w.Write(leases["lease"])
		case lease, r.Method != http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": listKind(kind), "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{},
			})
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func listKind(resource string) string {
	if strings.HasSuffix(resource, "secrets") {
		return "SecretList"
	}
	return "NodeList"
}

// SIGTERM ends the process gracefully, with or without leader election: every session is logged out, and the exit code is 0. Until
// then the probes and the metrics are served.
func TestProcess(t *testing.T) {
	for _, elect := range []bool{false, true} {
		t.Run(fmt.Sprintf("leader-elect=%v", elect), func(t *testing.T) {
			lab := sim.Start(t, zones)
			api := fewObjects(t)
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			replaceFile(t, kubeconfig, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}`, api.URL))
			address := freeAddress(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), processArgs+"="+strings.Join([]string{
				"--cloud-config=" + lab.CloudConfigFile(), "--kubeconfig=" + kubeconfig, "--secure-port=0",
				"--kube-api-content-type=application/json", "--health-address=" + address, fmt.Sprintf("--leader-elect=%v", elect),
			}, " "))
			var log strings.Builder
			cmd.Stdout, cmd.Stderr = &log, &log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()

			eventually(t, "ready", func() error {
				text, err := get(t, "http://"+address+"/readyz?verbose")
				if err == nil && strings.Count(text, "[+]vcenter") != 2 {
					err = fmt.Errorf("%q", text)
				}
				return err
			})
			for path, want := range map[string]string{
				"/healthz": "ok", "/metrics": `vsphere_ccm_vcenter_calls_total{method="Login",result="ok",vcenter="eu"} 1`,
			} {
				if text, err := get(t, "http://"+address+path); err != nil || !strings.Contains(text, want) {
					t.Errorf("%s: %v, want %q in\n%s", path, err, want, text)
				}
			}
			for _, v := range lab.VCenters() {
				if len(v.Sessions()) == 0 {
					t.Errorf("no session at %s", v.Name())
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("exit: %v\n%s", err, log.String())
				}
			case <-time.After(15 * time.Second):
				_ = cmd.Process.Kill()
				<-ended
				t.Fatalf("still running 15 s after SIGTERM\n%s", log.String())
			}
			for _, v := range lab.VCenters() {
				if s := v.Sessions(); len(s) > 0 {
					t.Errorf("sessions left at %s: %+v", v.Name(), s)
				}
			}
		})
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return string(text), err
}
