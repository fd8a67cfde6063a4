package existing

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/version"
)

func parseVersion(raw []byte) (*version.Info, error) {
	v := &version.Info{}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, err
	}
	if v.GitVersion == "" {
		return nil, errors.New("it tells no version")
	}
	return v, nil
}
