// Package incluster is the ground of a cluster that the sandbox itself is a pod of: every Node is a light one, whose kubelet is in
// another pod, and the cloud controller manager runs beside it.
//
// Floor 3.
package incluster

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options are the pod that the sandbox is. All fields are required.
type Options struct {
	// Name, Namespace and IP are its own, Node where it is.
	Name, Namespace, Node string
	IP                    netip.Addr
	// ControlPort is where the control API answers on its loopback address, for port-forwards; each vCenter does at the port
	// that it has on IP. FeedPort, on IP, is where light nodes learn of their machines.
	ControlPort, FeedPort int
	// FeedDir has what that is protected with: tls.crt, tls.key and token.
	FeedDir string
}

// Config is what the sandbox knows. All fields are mandatory.
type Config struct {
	Options
	// Sandbox is the sandbox's name, Dir its directory, Socket returns that of its control API.
	Sandbox, Dir string
	Socket       func() string
	Topology     *topology.Topology
	Speed        pace.Speed
	// CCM is the command of the cloud controller manager in the image.
	CCM  string
	Host Host
}

// Host is the sandbox.
type Host interface {
	// SetCluster has the sandbox use the cluster.
	SetCluster(cluster.Cluster)
	// ListenOn are the addresses of the vCenters, which are not built yet.
	ListenOn(addresses []string)
	// SetPods follows the programs that run as pods, and where these reach the vCenters; StopPods ends that.
	SetPods(*deploy.Deployment, ground.Images, []deploy.PodEndpoint)
	StopPods(context.Context) error
	// Feed has the light nodes, which are up by now when LightStarted is called.
	Feed() http.Handler
	LightStarted()
	// Go runs f in the background, Wait cancels what runs there in that group and waits for it.
	Go(group string, f func(context.Context))
	Wait(ctx context.Context, group string) error
	// Failed logs an error that no caller gets.
	Failed(what string, err error)
}

// Ground implements [ground.Ground], [ground.Deployer], [ground.Names] and [ground.Shared].
type Ground struct {
	Config
	cluster *existing.Cluster
	deploy  *deploy.Deployment
	image   image // the pod's own, which has every program of the sandbox in it
	reached []deploy.PodEndpoint
	listen  []string // the vCenters

	closeDoors func()
	closeFeed  func(context.Context) error
}

// New returns the ground; nothing is contacted.
func New(c Config) *Ground { return &Ground{Config: c} }

// Facts implements [ground.Ground]. The cluster runs at its own pace.
func (*Ground) Facts() ground.Facts {
	return ground.Facts{Cluster: api.ClusterPod, Speed: 1}
}

// DeploysCCM implements [ground.Deployer].
func (*Ground) DeploysCCM() bool { return true }

// Steps implements [ground.Ground]. Nodes are there before the cloud controller manager that initializes them.
func (g *Ground) Steps(s ground.Steps) []ground.Step {
	return []ground.Step{
		{Name: "cluster", Start: g.start, Stop: g.stop},
		s.VCenters, s.Inventory,
		{Name: "API server", Start: g.await},
		s.Faults, s.NodeWatch, s.Nodes, s.CloudConfig, s.CCM, s.Initialized,
	}
}

// removeTime is how long it may take to take what was made out of the cluster: less than a pod is given to end.
const removeTime = 20 * time.Second

// start makes what has to be known before there are vCenters, their addresses in the cluster, and opens the ways in: the
// control API for port-forwards, and the feed for light nodes.
func (g *Ground) start(ctx context.Context) (err error) {
	if g.cluster, err = existing.InCluster(g.Dir); err != nil {
		return err
	}
	g.Host.SetCluster(g.cluster)
	at, err := g.self(ctx)
	if err != nil {
		return fmt.Errorf("pod %s/%s, in which the sandbox should run: %w", g.Namespace, g.Name, err)
	}
	if g.deploy, err = deploy.New(g.cluster, deploy.Options{Speed: g.Speed, At: at, Instance: g.Sandbox}); err != nil {
		return err
	}
	if err := g.number(ctx); err != nil {
		return err
	}
	if err := g.open(ctx); err != nil {
		return err
	}
	g.closeFeed, err = g.serveFeed(ctx)
	return err
}

// number gives each vCenter a port of the pod's, and an address in the cluster.
func (g *Ground) number(ctx context.Context) error {
	var endpoints []deploy.Endpoint
	port := loopback.DefaultPort
	for _, vc := range g.Topology.Spec.VCenters {
		for port == g.ControlPort || port == g.FeedPort {
			port++
		}
		at := netip.AddrPortFrom(g.IP, uint16(port))
		endpoints = append(endpoints, deploy.Endpoint{Name: vc.Name, Addr: at})
		g.listen = append(g.listen, at.String())
		port++
	}
	g.Host.ListenOn(g.listen)
	var err error
	g.reached, err = g.deploy.VCenters(ctx, endpoints)
	return err
}

// open has port-forwards come to the control API, and to each vCenter at its own port.
func (g *Ground) open(ctx context.Context) error {
	doors := []existing.PortForward{{Port: g.ControlPort, Network: "unix", Address: g.Socket()}}
	for _, a := range g.listen {
		at, err := netip.ParseAddrPort(a)
		if err != nil {
			return err
		}
		doors = append(doors, existing.PortForward{Port: int(at.Port()), Network: "tcp", Address: a})
	}
	var err error
	g.closeDoors, err = existing.Expose(ctx, doors...)
	return err
}

// Names implements [ground.Names]: pods come by a vCenter's Service, and port-forwards by this pod's loopback address.
func (g *Ground) Names(vcenter string) []string {
	for _, r := range g.reached {
		if r.Name == vcenter {
			return []string{r.Host, r.DNS, "127.0.0.1", "localhost"}
		}
	}
	return nil
}

// await has it all known: the cluster has served from the beginning.
func (g *Ground) await(context.Context) error {
	g.Host.LightStarted() // they look after their nodes by what this process feeds them
	g.Host.SetPods(g.deploy, g.image, g.reached)
	return nil
}

// stop takes away what was made in the cluster, unless another pod takes the place of this one: that makes the same, and may
// have begun.
func (g *Ground) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	err := g.Host.StopPods(ctx)
	if g.deploy != nil {
		if !g.succeeded(ctx) {
			err = errors.Join(err, g.removeNodes(ctx), g.deploy.Remove(ctx, true))
		}
		g.deploy.Close()
	}
	if g.closeFeed != nil {
		err = errors.Join(err, g.closeFeed(ctx))
	}
	if g.closeDoors != nil {
		g.closeDoors()
	}
	return err
}

// Light implements [ground.Ground]. In a pod every node is light: kubelets cannot run as processes there.
func (*Ground) Light(*topology.VM) bool { return true }

// Nodes implements [ground.Ground].
func (*Ground) Nodes(*topology.Topology) string { return api.NodesLight }

// Guest implements [ground.Ground].
func (*Ground) Guest(n ground.Node) node.Guest {
	return n.LightGuest(ground.LightOptions{InPods: true})
}

// image is one image that has everything in it.
type image string

// Name returns the image's name, for every program.
func (i image) Name(string) string { return string(i) }

// validate returns an error for a missing or wrong option.
func (o *Options) validate() error {
	for what, value := range map[string]string{"name": o.Name, "namespace": o.Namespace, "node": o.Node, "feed directory": o.FeedDir} {
		if value == "" {
			return fmt.Errorf("the pod's %s is not known", what)
		}
	}
	if !o.IP.IsValid() || o.IP.IsLoopback() {
		return fmt.Errorf("the pod's address is not known: %s", o.IP)
	}
	for what, port := range map[string]int{"control": o.ControlPort, "feed": o.FeedPort} {
		if port < 1024 || port > 65535 {
			return errors.New(what + " port " + strconv.Itoa(port) + ": want a number from 1024 to 65535")
		}
	}
	return nil
}

// succeeded reports whether another pod will replace this one: it was evicted, say, or deleted by hand, and its Deployment
// still wants a pod. It returns false in doubt: objects that are removed too early are created again, but leftovers stay forever.
func (g *Ground) succeeded(ctx context.Context) bool {
	list, err := g.cluster.Client().AppsV1().Deployments(g.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=sandbox",
	})
	return err == nil && wantsPods(list.Items)
}

// wantsPods reports whether any of the Deployments wants pods.
func wantsPods(all []appsv1.Deployment) bool {
	return slices.ContainsFunc(all, func(d appsv1.Deployment) bool {
		return d.DeletionTimestamp == nil && (d.Spec.Replicas == nil || *d.Spec.Replicas > 0)
	})
}

// Foreign implements [ground.Shared]: all Nodes are that the sandbox has not registered.
func (g *Ground) Foreign(n *corev1.Node) bool {
	return n.Labels[deploy.ManagedByLabel] != deploy.ManagedBy || n.Labels[deploy.InstanceLabel] != g.Sandbox
}

// NamesFree implements [ground.Shared]: it refuses a topology with a VM that would be a node of a name that the cluster has a Node of already, which is not
// the sandbox's: light nodes leave that alone, and so the VM would never be one.
func (g *Ground) NamesFree(ctx context.Context, top *topology.Topology) error {
	return g.namesFree(ctx, g.cluster.Client(), top)
}

func (g *Ground) namesFree(ctx context.Context, client kubernetes.Interface, top *topology.Topology) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	taken := map[string]bool{}
	for i := range list.Items {
		taken[list.Items[i].Name] = g.Foreign(&list.Items[i])
	}
	for _, r := range top.Nodes() {
		if name := strings.ToLower(r.VM.Hostname); taken[name] {
			return &api.Error{
				Code: "conflict", Message: fmt.Sprintf("the cluster has a node %s, which is not the sandbox's, and vm %q would be one of that name", name, r.VM.Name),
				Try: "give the VM another hostname in the topology",
			}
		}
	}
	return nil
}

// self reads this very pod: what image it runs, and what it tolerates where it is. What is deployed runs beside it, of the same
// image, which the node has.
func (g *Ground) self(ctx context.Context) (*deploy.Placement, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	pod, err := g.cluster.Client().CoreV1().Pods(g.Namespace).Get(ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("it has no containers")
	}
	g.image = image(pod.Spec.Containers[0].Image)
	return &deploy.Placement{Node: g.Node, Tolerations: pod.Spec.Tolerations, Command: []string{program, g.CCM}}, nil
}

// program is this program in its image.
const program = "/vsphere-sandbox"

// nodesAtOnce is how many Nodes are deleted at the same time.
const nodesAtOnce = 16

// removeNodes deletes the Nodes of light nodes, as their administrator would.
func (g *Ground) removeNodes(ctx context.Context) error {
	api := g.cluster.Client().CoreV1().Nodes()
	list, err := api.List(ctx, metav1.ListOptions{
		LabelSelector: deploy.ManagedByLabel + "=" + deploy.ManagedBy + "," + deploy.InstanceLabel + "=" + g.Sandbox,
	})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(nodesAtOnce)
	for _, n := range list.Items {
		eg.Go(func() error {
			err := api.Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another one of that name
				return nil
			}
			return err
		})
	}
	return eg.Wait()
}

// serveFeed serves the state of VMs to light nodes in other pods that have the token, over TLS. closeFeed ends it.
func (g *Ground) serveFeed(ctx context.Context) (closeFeed func(context.Context) error, err error) {
	token, err := os.ReadFile(filepath.Join(g.FeedDir, "token"))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	if token = bytes.TrimSpace(token); len(token) == 0 {
		return nil, errors.New("feed: the token is empty: anybody would have it")
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(g.FeedDir, "tls.crt"), filepath.Join(g.FeedDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	at := netip.AddrPortFrom(g.IP, uint16(g.FeedPort)).String()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+feed.Path, withToken(token, g.Host.Feed()))
	streams, end := context.WithCancel(context.WithoutCancel(ctx)) // they end with the sandbox, not with the boot
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return streams },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	g.Host.Go(feedGroup, func(context.Context) {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			g.Host.Failed("feed", err)
		}
	})
	return func(ctx context.Context) error {
		end()
		return errors.Join(server.Close(), g.Host.Wait(ctx, feedGroup))
	}, nil
}

// feedGroup is the background group of the feed's server.
const feedGroup = "feed"

// withToken lets those in who have it.
func withToken(token []byte, h http.Handler) http.Handler {
	want := append([]byte("Bearer "), token...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the token is missing or another", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
