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

// startControlPlane starts the built program's control plane; awaitControlPlane waits for it.
func (l *Lab) startControlPlane(o Options) {
	l.t.Helper()
	path, err := program.Find()
	if err != nil {
		l.t.Fatal(err)
	}
	source, err := programs.Parse("dir:" + filepath.Dir(path)) // "make build" puts it beside the main program
	if err != nil {
		l.t.Fatal(err)
	}
	built, err := programs.Finder{}.Find(l.t.Context(), source)
	if err != nil {
		l.t.Fatal(err)
	}
	dir := l.mkdir("cluster")
	l.mkdir("cluster/logs")
	cluster, err := embedded.New(embedded.Options{Name: "lab", Dir: dir, Speed: l.speed, Audit: o.Audit})
	if err != nil {
		l.t.Fatal(err)
	}
	l.Cluster = cluster
	spec := cluster.Spec()
	spec.Path, spec.LogPath = built.Path, l.controlPlaneLog()
	plane := child.Start(spec, nil)
	l.t.Cleanup(func() {
		err := plane.Stop(context.Background())
		if err := errors.Join(err, cluster.Close()); err != nil {
			l.t.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
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
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Minute)
	defer cancel()
	if err := l.Cluster.WaitReady(ctx, func(string) {}); err != nil {
		log, _ := os.ReadFile(l.controlPlaneLog())
		l.t.Fatalf("%v\n%s", err, Tail(log, 4000))
	}
}

func (l *Lab) controlPlaneLog() string { return filepath.Join(l.Dir, "control-plane.log") }

// Tail is the end of a log.
func Tail(log []byte, bytes int) string {
	if len(log) > bytes {
		log = log[len(log)-bytes:]
	}
	return string(log)
}
