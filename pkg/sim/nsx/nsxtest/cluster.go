package nsxtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Service returns a Service of type LoadBalancer in the namespace default.
func Service(name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("uid-of-" + name)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: ports},
	}
}

// TCP returns a port of a Service.
func TCP(port, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Protocol: corev1.ProtocolTCP, Port: port, NodePort: nodePort}
}

// UDP is TCP for the other protocol.
func UDP(port, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Protocol: corev1.ProtocolUDP, Port: port, NodePort: nodePort}
}

// Nodes returns the nodes worker-0, worker-1 and so on, with the addresses 10.0.0.1, 10.0.0.2 and so on.
func Nodes(n int) []*corev1.Node {
	var all []*corev1.Node
	for i := range n {
		all = append(all, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("worker-%d", i)},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", i+1)}}},
		})
	}
	return all
}
