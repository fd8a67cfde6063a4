// Package metrics is the resource metrics API of the control-plane child, metrics.k8s.io/v1beta1: what kubectl top and a
// HorizontalPodAutoscaler read. [Run] serves it on a unix socket, to the API server's aggregator.
//
// It is in the place of metrics-server, and reads what that reads: /metrics/resource of every kubelet, through the API server's way
// to nodes. It reads only when a client asks, so that an idle sandbox pays nothing. The first answer after a pause
// waits for two readings.
//
// The aggregator has authorized a request before it forwards it, and proves itself with the front proxy's certificate.
package metrics
