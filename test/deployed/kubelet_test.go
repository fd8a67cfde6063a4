package deployed

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
)

// pods waits until the scheduler has placed so many pods of the DaemonSet, and makes each ready to be run.
func (w *world) pods(n int) []*pod {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	d := w.daemonSet()
	changes, err := w.Client.CoreV1().Pods(d.Namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(d.Spec.Selector.MatchLabels).String(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer changes.Stop()
	placed := map[string]*corev1.Pod{}
	for len(placed) < n {
		change, ok := <-changes.ResultChan()
		if !ok {
			w.t.Fatalf("%d of %d pods are on a node; last seen: %v", len(placed), n, w.podStatus())
		}
		if p, is := change.Object.(*corev1.Pod); is && p.Spec.NodeName != "" {
			placed[p.Spec.NodeName] = p
		}
	}
	var all []*pod
	for _, p := range placed {
		pod, err := w.newPod(ctx, p)
		if err != nil {
			w.t.Fatalf("pod %s: %v", p.Name, err)
		}
		all = append(all, pod)
	}
	return all
}

// podStatus is why pods are on no node.
func (w *world) podStatus() (all []string) {
	pods, err := w.Client.CoreV1().Pods(w.daemonSet().Namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for _, p := range pods.Items {
		all = append(all, fmt.Sprintf("%s: %s %v", p.Name, p.Status.Phase, p.Status.Conditions))
	}
	return all
}

// newPod projects the volumes and says how the container is run.
func (w *world) newPod(ctx context.Context, scheduled *corev1.Pod) (*pod, error) {
	p := &pod{Pod: scheduled, w: w, dir: filepath.Join(w.Dir, "pods", scheduled.Name), ports: map[string]string{}}
	if len(p.Spec.Containers) != 1 || len(p.Spec.InitContainers) > 0 || p.Spec.Containers[0].Command != nil {
		return nil, fmt.Errorf("one container is known, which runs the image's entry point: %v", p.Spec)
	}
	p.container = p.Spec.Containers[0]
	if err := p.sync(ctx); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(p.dir, "kubeconfig")
	token := p.here("/var/run/secrets/kubernetes.io/serviceaccount/token")
	if err := w.Cluster.Via(w.Cluster.Addr()).Token(kubeconfig, p.Namespace, token); err != nil {
		return nil, err
	}
	p.spec = child.Spec{
		Name: p.Name, Path: w.binary, Dir: "/", LogPath: filepath.Join(p.dir, "log"), StopGrace: grace, Once: true,
		Env: []string{"PATH=/"}, // hack/image gives it no more that matters
	}
	loopback := regexp.MustCompile(`\b127\.0\.0\.1:[0-9]+\b`)
	for _, arg := range p.container.Args {
		if strings.Contains(arg, "$(") {
			return nil, fmt.Errorf("argument %s: variables are not known", arg)
		}
		p.spec.Args = append(p.spec.Args, loopback.ReplaceAllStringFunc(p.here(arg), p.port))
	}
	p.spec.Args = append(p.spec.Args, "--kubeconfig="+kubeconfig)
	for _, v := range p.container.Env {
		if v.ValueFrom != nil {
			value, err := p.field(v.ValueFrom.FieldRef)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.Name, err)
			}
			v.Value = value
		}
		p.spec.Env = append(p.spec.Env, v.Name+"="+v.Value)
	}
	return p, nil
}

// sync projects every volume that is mounted, as it is now.
func (p *pod) sync(ctx context.Context) error {
	for _, v := range p.Spec.Volumes {
		files, err := p.projected(ctx, v)
		if err != nil {
			return err
		}
		for name, text := range files {
			files[name] = p.here(text)
		}
		if err := write(p.volume(v.Name), files); err != nil {
			return err
		}
	}
	return nil
}

func (p *pod) volume(name string) string { return filepath.Join(p.dir, "volumes", name) }

// here is a text with the paths that the process, for which nothing is mounted, finds things at.
func (p *pod) here(text string) string {
	for _, m := range p.container.VolumeMounts {
		text = strings.ReplaceAll(text, m.MountPath+"/", p.volume(m.Name)+"/")
	}
	return text
}

// port is a free one of this machine for an address on the node's loopback interface.
func (p *pod) port(address string) string {
	if p.ports[address] == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			p.w.t.Fatal(err)
		}
		defer l.Close()
		p.ports[address] = l.Addr().String()
	}
	return p.ports[address]
}
