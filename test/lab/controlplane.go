package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// ControlPlane starts the control plane of the built programs in a folder; it ends with the test. It does not wait for the API
// server: see [Await].
func ControlPlane(t TB, o embedded.Options) *embedded.Cluster {
	t.Helper()
	path, err := program.Find()
	if err != nil {
		t.Fatal(err)
	}
	source, err := programs.Parse("dir:" + filepath.Dir(path)) // "make build" puts it beside the main program
	if err != nil {
		t.Fatal(err)
	}
	built, err := programs.Finder{}.Find(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	cluster, err := embedded.New(o)
	if err != nil {
		t.Fatal(err)
	}
	spec := cluster.Spec()
	spec.Path, spec.LogPath = built.Path, planeLog(o.Dir)
	plane := child.Start(spec, nil)
	t.Cleanup(func() {
		if err := errors.Join(plane.Stop(context.Background()), cluster.Close()); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// Await waits until the API server of a [ControlPlane] in dir answers.
func Await(t TB, cluster *embedded.Cluster, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := cluster.WaitReady(ctx, func(string) {}); err != nil {
		log, _ := os.ReadFile(planeLog(dir))
		t.Fatalf("%v\n%s", err, Tail(log, 4000))
	}
}

func planeLog(dir string) string { return filepath.Join(dir, "control-plane.log") }

// startControlPlane starts the lab's control plane; awaitControlPlane waits for it.
func (l *Lab) startControlPlane(o Options) {
	l.t.Helper()
	l.Cluster = ControlPlane(l.t, embedded.Options{Name: "lab", Dir: l.clusterDir(), Speed: l.speed, Audit: o.Audit})
	config, err := clientcmd.BuildConfigFromFlags("", l.Cluster.Kubeconfig())
	if err != nil {
		l.t.Fatal(err)
	}
	config.QPS = -1 // many kubelets, each with a separate limit if they were real
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.UserAgent = userAgent
	if l.Client, err = kubernetes.NewForConfig(config); err != nil {
		l.t.Fatal(err)
	}
}

func (l *Lab) awaitControlPlane() {
	l.t.Helper()
	Await(l.t, l.Cluster, l.clusterDir())
}

func (l *Lab) clusterDir() string { return filepath.Join(l.Dir, "cluster") }

// Tail is the end of a log.
func Tail(log []byte, bytes int) string {
	if len(log) > bytes {
		log = log[len(log)-bytes:]
	}
	return string(log)
}
