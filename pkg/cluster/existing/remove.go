package existing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// patience is the timeout of a removal, including namespaces with their pods.
const patience = 90 * time.Second

// Remove removes all objects of a sandbox, and waits until they are gone: first workloads, so that nothing is created
// again; then its Nodes; then the rest, by label, and its namespaces last. It works for a sandbox in any state, including
// incomplete and removed ones.
func (c *Cluster) Remove(ctx context.Context, name string, say func(string)) error {
	client, err := metadata.NewForConfig(c.REST())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := remover{client: client, selectors: []string{selectChart(name), selectManaged(name)}, kinds: kinds()}
	err = r.all(ctx, say)
	if waits, ok := errors.AsType[*stillThere](err); ok {
		return c.left(name, waits)
	}
	return c.explain(ctx, err)
}

// left returns the error about remaining objects.
func (c *Cluster) left(name string, waits *stillThere) error {
	return &coded.Error{
		Code: CodeLeft, Message: fmt.Sprintf("objects of sandbox %q are still in the cluster: %s", name, waits),
		Try: fmt.Sprintf("vsphere-sandbox down --name %s\nkubectl --context %s get namespace %s -o yaml", name, c.context, NamespaceOf(name)),
	}
}

// remover removes the selected objects.
type remover struct {
	client    metadata.Interface
	selectors []string
	kinds     []made // in the order of their removal
}

// object is an object to remove.
type object struct {
	made
	meta metav1.ObjectMeta
}

func (o object) String() string {
	name := o.meta.Name
	if o.meta.Namespace != "" {
		name = o.meta.Namespace + "/" + name
	}
	return strings.ToLower(o.kind) + " " + name
}

// stillThere is the error of a removal that timed out.
type stillThere struct{ what []string }

func (e *stillThere) Error() string { return shorten.List(e.what, 5) }

func (r remover) all(ctx context.Context, say func(string)) error {
	for _, k := range r.kinds {
		found, err := r.list(ctx, k)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		say(fmt.Sprintf("removing %d %s", len(found), k.resource.Resource))
		if err := r.gone(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

// list returns all selected objects of a kind, each once; none if the cluster does not have the kind.
func (r remover) list(ctx context.Context, k made) ([]object, error) {
	var all []object
	seen := map[types.UID]bool{}
	for _, selector := range r.selectors {
		list, err := r.client.Resource(k.resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.resource.Resource, err)
		}
		for _, o := range list.Items {
			if !seen[o.UID] {
				seen[o.UID] = true
				all = append(all, object{k, o.ObjectMeta})
			}
		}
	}
	return all, nil
}

// at returns the API resource of an object.
func (r remover) at(o object) metadata.ResourceInterface {
	if o.meta.Namespace == "" {
		return r.client.Resource(o.resource)
	}
	return r.client.Resource(o.resource).Namespace(o.meta.Namespace)
}

// gone deletes objects and waits until they, and their pods, are gone.
func (r remover) gone(ctx context.Context, all []object) error {
	err := each(ctx, all, func(ctx context.Context, o object) error {
		// The UID protects another object that was created with the same name.
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.meta.UID}}
		if o.resource.Group == "apps" { // wait for the pods, too
			options.PropagationPolicy = new(metav1.DeletePropagationForeground)
		}
		err := r.at(o).Delete(ctx, o.meta.Name, options)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	waiting := all
	for tick := time.NewTicker(look); ; {
		var mu sync.Mutex
		var there []object
		err := each(ctx, waiting, func(ctx context.Context, o object) error {
			now, err := r.at(o).Get(ctx, o.meta.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil && now.UID == o.meta.UID {
				mu.Lock()
				defer mu.Unlock()
				there = append(there, o)
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			tick.Stop()
			return err
		}
		if len(there) == 0 && err == nil {
			tick.Stop()
			return nil
		}
		if err == nil {
			waiting = there
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return ctx.Err()
			}
			e := &stillThere{}
			for _, o := range waiting {
				e.what = append(e.what, o.String())
			}
			slices.Sort(e.what)
			return e
		}
	}
}

// each calls f for all objects in parallel, and names the object in an error.
func each(ctx context.Context, all []object, f func(context.Context, object) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, o := range all {
		g.Go(func() error {
			if err := f(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", o, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// resourceOf returns the API resource of a kind, without discovery: the kinds are those of a sandbox's objects.
func resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	for _, k := range kinds() {
		if k.kind == kind.Kind && k.resource.Group == kind.Group {
			return k.resource, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%s: a sandbox has no objects of this kind", kind)
}

// made is a kind of a sandbox's objects.
type made struct {
	kind     string
	resource schema.GroupVersionResource
	// wide is set for cluster-scoped kinds.
	wide bool
}

// kinds returns the kinds of a sandbox's objects in the order of their removal: controllers before what they manage,
// their permissions after it, and namespaces last.
func kinds() []made {
	of := func(wide bool, group, kind, resource string) made {
		return made{kind, schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, wide}
	}
	const rbac = "rbac.authorization.k8s.io"
	return []made{
		of(false, "apps", "Deployment", "deployments"),
		of(false, "apps", "DaemonSet", "daemonsets"),
		of(false, "apps", "StatefulSet", "statefulsets"),
		of(true, "", "Node", "nodes"),
		of(false, "discovery.k8s.io", "EndpointSlice", "endpointslices"),
		of(false, "", "Service", "services"),
		of(false, "", "ConfigMap", "configmaps"),
		of(false, "", "Secret", "secrets"),
		of(false, "coordination.k8s.io", "Lease", "leases"),
		of(false, rbac, "RoleBinding", "rolebindings"),
		of(false, rbac, "Role", "roles"),
		of(true, rbac, "ClusterRoleBinding", "clusterrolebindings"),
		of(true, rbac, "ClusterRole", "clusterroles"),
		of(false, "", "ServiceAccount", "serviceaccounts"),
		of(true, "", "Namespace", "namespaces"),
	}
}

// noteName is the file in a sandbox's directory that records objects in a cluster, that of the kubeconfig beside it.
const noteName = "cluster.json"

// Note is the contents of that file.
type Note struct {
	Name    string `json:"name"`
	Context string `json:"context"`
	// Outside is set for a sandbox outside of the cluster: [Cluster.RemoveOutside] removes all its objects.
	Outside bool `json:"beside,omitempty"`
}

// NotePath returns the path of the note in a sandbox's directory.
func NotePath(dir string) string { return filepath.Join(dir, noteName) }

// WriteNote writes the note. Call it before the first object is created.
func WriteNote(dir string, n Note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(NotePath(dir), append(text, '\n'), 0o600)
}

// RemoveNote removes the note. A missing one is no error.
func RemoveNote(dir string) error {
	if err := os.Remove(NotePath(dir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadNote returns the note, or nil if there is no file.
func ReadNote(dir string) (*Note, error) {
	text, err := private.ReadFile(NotePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &Note{}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("%s: %w", NotePath(dir), err)
	}
	return n, nil
}
