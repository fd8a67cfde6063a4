package existing

// Codes of a [coded.Error] about a cluster, or about the connection to it.
const (
	CodeKubeconfig  = "kubeconfig-invalid"
	CodeUnreachable = "cluster-unreachable"
	CodeCertificate = "cluster-certificate-unknown"
	CodeCredentials = "cluster-credentials-refused"
	CodeRights      = "cluster-rights-missing"
	CodeVersion     = "cluster-too-old"
	CodeNodes       = "cluster-nodes-endangered"
	CodeController  = "cloud-controller-present"
	CodeTaken       = "cluster-in-use"
	CodeName        = "node-name-taken"
	CodeImage       = "image-missing"
	CodePod         = "pod-not-running"
	CodeNoPod       = "not-in-a-pod"
	CodeLeft        = "cluster-not-clean"
)
