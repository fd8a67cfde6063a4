// Package deployed has only tests: the cloud controller manager works as manifests/ccm deploys it, with the rights in there,
// all of them and no others.
//
// Every object of the manifests is created in a real control plane, in the order of kustomization.yaml; edited is what its
// README has an operator edit, no more. The DaemonSet controller makes the pods, the scheduler places them, and the test is
// the kubelet: it projects the pod's volumes into folders, the token of its ServiceAccount among them, and runs our program
// with the arguments and the environment of the container, to the letter but for these:
//
//   - paths below a mount are those of the folder, in arguments and in files of ConfigMaps: nothing is mounted;
//   - each address on the node's loopback interface is another free port: the nodes are one machine;
//   - --kubeconfig comes after the arguments, with the pod's token: in a container the program finds it by itself.
//
// What the account asked for is read from the API server's audit log: nothing was refused, every request needed a right of
// the manifests or none at all, and each verb of each rule was needed. Those of lists are so only where the API server
// streams none, as before Kubernetes 1.34; the second test has the program believe that.
//
// What a container runtime does is not tried: another user, a file system that cannot be written, limits.
//
//	go test ./test/deployed -v     needs bin/vsphere-sandbox ("make build"); takes less than a minute
//
// The Helm chart is not deployed: test/manifests compares what it renders with these manifests, field by field.
//
// Floor 5.
package deployed
