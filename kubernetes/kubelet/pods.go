package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	podruntime "github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/runtime"
)

// client is the kubelet's, which watches its pods through another REST client: that one adapts them to the runtime as it decodes
// them. In the API they stay as they are, for a kubelet writes their status only.
type client struct {
	kubernetes.Interface
	pods rest.Interface
}

// newClient returns a client with the configuration of another.
func newClient(c kubernetes.Interface, rc *rest.Config) (kubernetes.Interface, error) {
	config := rest.CopyConfig(rc)
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = adapting{scheme.Codecs.WithoutConversion()}
	pods, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return client{c, pods}, nil
}

// CoreV1 implements kubernetes.Interface.
func (c client) CoreV1() typedcorev1.CoreV1Interface { return core{c.Interface.CoreV1(), c.pods} }

type core struct {
	typedcorev1.CoreV1Interface
	pods rest.Interface
}

// RESTClient returns the client that the kubelet's source of pods uses (pkg/kubelet/config/apiserver.go); nothing else of it does.
func (c core) RESTClient() rest.Interface { return c.pods }

// adapting decodes pods for the runtime.
type adapting struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (a adapting) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return adapter{a.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type adapter struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (a adapter) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := a.Decoder.Decode(data, defaults, into)
	switch obj := obj.(type) {
	case *corev1.Pod:
		podruntime.Adapt(obj)
	case *corev1.PodList:
		for i := range obj.Items {
			podruntime.Adapt(&obj.Items[i])
		}
	}
	return obj, kind, err
}
