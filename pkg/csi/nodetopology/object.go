package nodetopology

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

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
