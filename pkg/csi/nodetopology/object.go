package nodetopology

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Kind is the kind of the objects.
const Kind = "CSINodeTopology"

// Resource returns the API resource of the objects.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "csinodetopologies"}
}

// The values of [Status.Status]; empty before there is an answer.
const (
	Success = "Success"
	Error   = "Error"
)

// Object is one CSINodeTopology object. It has the name of its Node and is owned by it.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Spec identifies the node.
type Spec struct {
	// NodeID is the name of the Node, NodeUUID the BIOS UUID of its VM.
	NodeID   string `json:"nodeID"`
	NodeUUID string `json:"nodeuuid,omitempty"`
}

// Status is the answer.
type Status struct {
	Status         string  `json:"status,omitempty"`
	TopologyLabels []Label `json:"topologyLabels,omitempty"`
	ErrorMessage   string  `json:"errorMessage,omitempty"`
}

// Label is one key of a node's topology.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Segment returns the topology in a status.
func (s Status) Segment() volume.Segment {
	segment := volume.Segment{}
	for _, l := range s.TopologyLabels {
		segment[l.Key] = l.Value
	}
	return segment
}

// succeeded returns the status for a topology.
func succeeded(segment volume.Segment) Status {
	s := Status{Status: Success}
	for _, key := range slices.Sorted(maps.Keys(segment)) {
		s.TopologyLabels = append(s.TopologyLabels, Label{key, segment[key]})
	}
	return s
}

func (s Status) same(other Status) bool {
	return s.Status == other.Status && s.ErrorMessage == other.ErrorMessage && maps.Equal(s.Segment(), other.Segment())
}

// StatusOf returns the answer in a node's object, empty before there is one, or the API server's error.
func StatusOf(ctx context.Context, client dynamic.Interface, node string) (Status, error) {
	u, err := client.Resource(Resource()).Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return Status{}, err
	}
	o, err := parse(u)
	if err != nil {
		return Status{}, err
	}
	return o.Status, nil
}

func parse(u *unstructured.Unstructured) (*Object, error) {
	o := &Object{}
	return o, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
}

func (o *Object) unstructured() (*unstructured.Unstructured, error) {
	o.TypeMeta = metav1.TypeMeta{APIVersion: Resource().GroupVersion().String(), Kind: Kind}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// Topology returns the topology of nodes; pkg/csi/nodes.Nodes implements it.
type Topology interface {
	// Segment returns the topology of the VM with a BIOS UUID; node is its name in errors. An error that wraps
	// volume.ErrUnavailable means that it is unknown at the moment.
	Segment(ctx context.Context, node, uuid string) (volume.Segment, error)
	// Listen calls f when a topology may have changed; f must not block.
	Listen(f func(nodes []string)) (stop func())
}

// Labels returns the labels of nodes; pkg/csi/nodes.Informer implements it.
type Labels interface {
	// Labels returns the labels of a node, and whether the node exists.
	Labels(node string) (map[string]string, bool)
	// ListenNode calls f when the labels of a node may have changed; f must not block.
	ListenNode(f func(node string)) (stop func())
}

// Config is the configuration of a [Controller]. All fields are optional unless they are called mandatory.
type Config struct {
	// Dynamic reads and writes CSINodeTopology objects: get, list, watch, update. Mandatory.
	Dynamic dynamic.Interface
	// Client patches nodes, and Labels reads their labels. Without either, labels of nodes are not updated.
	Client kubernetes.Interface
	Labels Labels
	// Topology returns the topology. Mandatory.
	Topology Topology

	// Events records answers and changes on the object and the Node.
	Events record.EventRecorder
	// Grace is how long a missing topology keeps its last value, because tags are moved by detaching them first. For the same
	// time no error is written while a vCenter is unreachable. 3 s when zero.
	Grace time.Duration
	// RetryMin and RetryMax bound the doubling pauses between attempts for a node without a topology when nothing changes; 1 s
	// and 1 min when zero.
	RetryMin, RetryMax time.Duration
	// Workers is the number of concurrent workers; 4 when zero.
	Workers int
	// Logger receives answers; discarded when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Grace = cmp.Or(c.Grace, 3*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, time.Second)
	c.RetryMax = cmp.Or(c.RetryMax, time.Minute)
	c.Workers = cmp.Or(c.Workers, 4)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

//go:embed crd.yaml
var crd []byte

// CRD returns the CustomResourceDefinition of CSINodeTopology objects as YAML, with upstream's schema.
func CRD() []byte { return slices.Clone(crd) }
