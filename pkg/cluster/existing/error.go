package existing

// Error is what is wrong with a cluster, or with the way to it.
type Error struct {
	// Code is a stable kebab-case id, one of the Code constants.
	Code string
	// Message is one sentence: lower case, subject first, no full stop. Try is what to do about it, a line for each way.
	Message, Try string
	// Err is the reason, if another error is.
	Err error
}

// The codes.
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

// Error returns the message and the reason.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
