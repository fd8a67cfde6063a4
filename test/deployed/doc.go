// Package deployed has only tests: the cloud controller manager works as manifests/ccm deploys it, with exactly the
// permissions in there.
//
// Every object of the manifests is created in a real control plane, in the order of kustomization.yaml; "edited" has only
// the edits that its README describes. The DaemonSet controller creates the pods, the scheduler places them, and the test
// acts as the kubelet: it projects the pod's volumes into folders, including the token of its ServiceAccount, and runs
// our program with the arguments and the environment of the container, except for these:
//
//   - paths below a mount are those of the folder, in arguments and in files of ConfigMaps: nothing is mounted;
//   - each address on the node's loopback interface is another free port: all nodes share one host;
//   - --kubeconfig comes after the arguments, with the pod's token: in a container the program finds the token
//
// automatically.
//
// The API server's audit log shows the account's requests: none was forbidden, every request needed a rule of the
// manifests or no permission at all, and each verb of each rule was needed. list is only needed where the API server does
// not stream lists, as before Kubernetes 1.34; the second test makes the program believe that.
//
// Not covered is what a container runtime does: another user, a read-only file system, limits.
//
//	go test ./test/deployed -v     needs bin/vsphere-sandbox ("make build"); takes less than a minute
//
// The Helm chart is not deployed: test/manifests compares what it renders with these manifests, field by field.
//
// Floor 5.
package deployed
