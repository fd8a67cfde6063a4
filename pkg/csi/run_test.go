package csi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// kubeconfig is for an API server that has one namespace and nothing else.
func kubeconfig(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/v1/namespaces/kube-system":
			_ = json.NewEncoder(w).Encode(&corev1.Namespace{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
				ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "11111111-2222-3333-4444-555555555555"},
			})
		case r.URL.Path == "/api/v1/nodes" && r.URL.Query().Get("watch") == "" && r.URL.Query().Get("sendInitialEvents") == "":
			_ = json.NewEncoder(w).Encode(&corev1.NodeList{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			})
		case r.URL.Query().Get("sendInitialEvents") != "":
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, http.StatusUnprocessableEntity)
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	conf := clientcmdapi.NewConfig()
	conf.Clusters["c"] = &clientcmdapi.Cluster{Server: s.URL}
	conf.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	conf.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*conf, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs the driver with a command line, until stop is called.
func run(t *testing.T, args ...string) (socket string, stop func()) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "csi.sock")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- csi.Run(ctx, "v1.2.3", append(args, "--endpoint=unix://"+socket)) }()
	return socket, sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Error("it does not end")
		}
		if _, err := os.Lstat(socket); !os.IsNotExist(err) {
			t.Errorf("its socket is left: %v", err)
		}
	})
}

func dial(t *testing.T, socket string) csiapi.IdentityClient {
	t.Helper()
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return csiapi.NewIdentityClient(c)
}

// The controller serves before it is ready, becomes ready, and leaves no session behind. It is the only Run in this process with
// metrics.
func TestRunController(t *testing.T) {
	lab := sim.Start(t, twoVCenters)
	socket, stop := run(t, "--mode=controller", "--config="+lab.CloudConfigFile(), "--kubeconfig="+kubeconfig(t), "--metrics-address=127.0.0.1:0")
	defer stop()
	client := dial(t, socket)
	info, err := client.GetPluginInfo(t.Context(), &csiapi.GetPluginInfoRequest{})
	if err != nil || info.GetName() != names.Driver || info.GetVendorVersion() != "v1.2.3" {
		t.Fatal(info, err)
	}
	eventually(t, func() error {
		answer, err := client.Probe(t.Context(), &csiapi.ProbeRequest{})
		if err == nil && !answer.GetReady().GetValue() {
			err = context.DeadlineExceeded
		}
		return err
	})
	stop()
	for _, name := range []string{"us", "eu"} {
		v, _ := lab.VCenter(name)
		for _, s := range v.Sessions() {
			if s.Client == csi.UserAgent {
				t.Errorf("vcenter %s: a session is left", name)
			}
		}
	}
}

// The node service needs no vCenter, and without topology no API server.
func TestRunNode(t *testing.T) {
	socket, stop := run(t, "--mode=node", "--backend=hollow", "--by-id-dir="+t.TempDir(), "--state-dir="+t.TempDir(), "--node-id="+us1, "--topology=false")
	defer stop()
	if _, err := dial(t, socket).Probe(t.Context(), &csiapi.ProbeRequest{}); err != nil {
		t.Error(err)
	}
}

// Errors in the command line are reported before anything starts.
func TestCommandLine(t *testing.T) {
	serial := filepath.Join(t.TempDir(), "serial")
	if err := os.WriteFile(serial, []byte("Parallels-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kube := kubeconfig(t)
	for _, test := range []struct{ args, err string }{
		{"", "--mode is \"\""},
		{"--mode=both --endpoint=unix:///x", "--mode is \"both\""},
		{"--mode=node", "--endpoint is missing"},
		{"--nonsense", "--help lists all flags"},
		{"--mode=controller --endpoint=unix:///x extra", "unexpected argument \"extra\""},
		{"--mode=controller --endpoint=unix:///x --vcenter-call-timeout=1ms", "--vcenter-call-timeout is 1ms"},
		{"--mode=controller --endpoint=unix:///x --timeout=-1s", "--timeout is -1s"},
		{"--mode=controller --endpoint=unix:///x --kubeconfig=/nowhere/at/all", "no such file"},
		{"--mode=controller --endpoint=unix:///x --config=/nowhere/at/all --kubeconfig=" + kube, "/nowhere/at/all"},
		{"--mode=node --endpoint=unix:///x", "--node-name is missing"},
		{"--mode=node --endpoint=unix:///x --topology=false --backend=disk", "--backend is \"disk\""},
		{"--mode=node --endpoint=unix:///x --topology=false --backend=dir", "--state-dir is missing"},
		{"--mode=node --endpoint=unix:///x --topology=false --backend=dir --state-dir=/x", "--volumes-dir is missing"},
		{"--mode=node --endpoint=unix:///x --topology=false --backend=dir --state-dir=/x --volumes-dir=/x --bind", "--bind is for --backend=hollow"},
		{"--mode=node --endpoint=unix:///x --topology=false --backend=hollow --state-dir=/x", "--by-id-dir is missing"},
		{"--mode=node --endpoint=unix:///x --topology=false --max-volumes=0", "--max-volumes is 0"},
		{"--mode=node --endpoint=unix:///x --topology=false --device-timeout=0", "--device-timeout"},
		{"--mode=node --endpoint=unix:///x --topology=false --serial-file=" + serial, "is not that of a VMware VM"},
	} {
		err := csi.Run(t.Context(), "", strings.Fields(test.args))
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", test.args, err, test.err)
		}
	}
}
