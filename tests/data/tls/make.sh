#!/bin/sh
# make.sh DIR: a throwaway PKI for the tests of tls, made anew wherever it is missing, so that nothing in it expires.
# Files: NAME.pem is a certificate (chains: its issuers behind it), NAME.key its key.
set -eu
out=$1
[ -d "$out" ] && exit 0
dir=$out.$$
end() {
    [ "$1" = 0 ] || cat "$dir/make.log"
    rm -rf "$dir"
}
trap 'end $?' EXIT
mkdir -p "$dir"
here=$(cd "$(dirname "$0")" && pwd)
dir=$(cd "$dir" && pwd)
cd "$dir"
exec 2>make.log

# Keys: few, because RSA takes time; certificates of one kind share one.
openssl ecparam -name prime256v1 -genkey -noout -out ec.key
openssl ecparam -name secp384r1 -genkey -noout -out ec384.key
openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl ecparam -name prime256v1 -genkey -noout -out inter.key
openssl genrsa -traditional -out rsa.key 2048
openssl genrsa -out rsa1024.key 1024
openssl genrsa -out rsa4096.key 4096
openssl genrsa -out rsa-ca.key 2048
openssl genpkey -algorithm ed25519 -out ed25519.key

# ca NAME KEY CN [EXTENSION...]: self-signed
ca() {
    name=$1 key=$2 cn=$3
    shift 3
    printf '%s\n' 'basicConstraints=critical,CA:TRUE' 'keyUsage=critical,keyCertSign' "$@" >ext
    openssl req -new -key "$key.key" -subj "/O=mobula/CN=$cn" |
        openssl x509 -req -sha256 -days 7300 -signkey "$key.key" -extfile ext -out "$name.pem"
}

# leaf NAME KEY CA CA_KEY SUBJECT [EXTENSION...]; $digest and $options go to openssl x509
options=
digest=-sha256
leaf() {
    name=$1 key=$2 issuer=$3 issuer_key=$4 subject=$5
    shift 5
    printf '%s\n' "$@" >ext
    # shellcheck disable=SC2086
    openssl req -new -key "$key.key" -subj "$subject" |
        openssl x509 -req $digest -days 3650 -set_serial 77 $options -CA "$issuer.pem" -CAkey "$issuer_key.key" -extfile ext \
            -out "$name.pem"
    [ "$name" = "$key" ] || cp "$key.key" "$name.key"
    options=
    digest=-sha256
}
server='extendedKeyUsage=serverAuth'
k8s='subjectAltName=DNS:kubernetes.default.svc'

ca ca ca 'mobula test CA'
ca rsa-ca rsa-ca 'mobula test RSA CA'
ca other ec 'some other CA'
ca impostor ec 'mobula test CA'

leaf both ec ca ca /CN=x "subjectAltName=DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:fd00::1" $server
leaf ip ec ca ca /CN=kubernetes.default.svc subjectAltName=IP:127.0.0.1 $server
leaf wild ec ca ca /CN=x 'subjectAltName=DNS:*.default.svc' $server
leaf partial ec ca ca /CN=x 'subjectAltName=DNS:kub*.default.svc' $server
leaf tld ec ca ca /CN=x 'subjectAltName=DNS:*.svc' $server
leaf address-as-name ec ca ca /CN=x subjectAltName=DNS:127.0.0.1 $server
leaf cn-client ec ca ca /CN=kubernetes.default.svc extendedKeyUsage=clientAuth
leaf cn-server ec ca ca /CN=kubernetes.default.svc $server
leaf client-eku ec ca ca /CN=x $k8s extendedKeyUsage=clientAuth
leaf no-eku ec ca ca /CN=x $k8s
leaf any-eku ec ca ca /CN=x $k8s extendedKeyUsage=anyExtendedKeyUsage
leaf both-eku ec ca ca /CN=x $k8s extendedKeyUsage=clientAuth,serverAuth
leaf critical-eku ec ca ca /CN=x $k8s extendedKeyUsage=critical,serverAuth
leaf p384 ec384 ca ca /CN=x $k8s $server
leaf ed25519 ed25519 ca ca /CN=x $k8s $server
digest=
leaf ed25519-signed ec ed25519 ed25519 /CN=x $k8s $server
cat ed25519.pem >>ed25519-signed.pem
leaf rsa rsa rsa-ca rsa-ca /CN=x $k8s $server
leaf rsa1024 rsa1024 rsa-ca rsa-ca /CN=x $k8s $server
digest=-sha1
leaf sha1 rsa rsa-ca rsa-ca /CN=x $k8s $server

# Signed with RSA-PSS: a salt of the hash's length (-1), as TLS asks for it, and what differs from that.
pss='-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen'
for bits in 256 384 512; do
    digest=-sha$bits options=$pss:-1
    leaf pss$bits rsa rsa-ca rsa-ca /CN=x $k8s $server
done
options=$pss:20 # the default, which is not written
leaf pss-salt20 rsa rsa-ca rsa-ca /CN=x $k8s $server
options=$pss:40
leaf pss-salt rsa rsa-ca rsa-ca /CN=x $k8s $server
options="$pss:-1 -sigopt rsa_mgf1_md:sha384"
leaf pss-mask rsa rsa-ca rsa-ca /CN=x $k8s $server
digest=-sha1 options=$pss:-1
leaf pss-sha1 rsa rsa-ca rsa-ca /CN=x $k8s $server
options=$pss:-1
leaf pss-inter rsa rsa-ca rsa-ca '/CN=mobula PSS intermediate' 'basicConstraints=critical,CA:TRUE' 'keyUsage=keyCertSign'
options=$pss:-1 # a chain of PSS alone, then PKCS #1 below PSS
leaf pss-deep ec pss-inter rsa /CN=x $k8s $server
leaf pss-mixed ec pss-inter rsa /CN=x $k8s $server
cat pss-inter.pem >>pss-deep.pem
cat pss-inter.pem >>pss-mixed.pem
leaf pkcs1-inter rsa rsa-ca rsa-ca '/CN=mobula PKCS 1 intermediate' 'basicConstraints=critical,CA:TRUE' 'keyUsage=keyCertSign'
options=$pss:-1 # PSS below PKCS #1
leaf pss-below ec pkcs1-inter rsa /CN=x $k8s $server
cat pkcs1-inter.pem >>pss-below.pem
# The signature of another certificate by the same key and hash.
openssl x509 -in pss256.pem -outform DER | head -c -256 >lie.der
openssl x509 -in pss-inter.pem -outform DER | tail -c 256 >>lie.der
openssl x509 -inform DER -in lie.der -out pss-wrong.pem
cp rsa.key pss-wrong.key

# RSA of 8192 bits takes a minute to generate: the key is a file.
cp "$here/rsa8192.key" rsa8192-ca.key
ca rsa8192-ca rsa8192-ca 'mobula test RSA-8192'
leaf rsa8192 rsa8192-ca rsa8192-ca rsa8192-ca /CN=x $k8s $server
digest=-sha512 options=$pss:-1
leaf rsa8192-pss ec rsa8192-ca rsa8192-ca /CN=x $k8s $server
leaf client-rsa8192 rsa8192-ca rsa8192-ca rsa8192-ca /CN=admin extendedKeyUsage=clientAuth

# A CA between: valid for a thousand days, its leaf for ten years.
options='-days 1000'
leaf inter inter ca ca '/CN=mobula intermediate' 'basicConstraints=critical,CA:TRUE' 'keyUsage=keyCertSign'
leaf deep ec inter inter /CN=x $k8s $server
cp deep.pem alone.pem
cp deep.key alone.key
cat inter.pem >>deep.pem
cat inter.pem alone.pem >reversed.pem
cp inter.key reversed.key
leaf no-ca inter ca ca '/CN=mobula intermediate' 'basicConstraints=critical,CA:FALSE'
cat alone.pem no-ca.pem >by-no-ca.pem
cp deep.key by-no-ca.key
constrained() {
    leaf constrained-ca inter ca ca '/CN=mobula constrained' 'basicConstraints=critical,CA:TRUE' "nameConstraints=$2"
    leaf "constrained-$1" ec constrained-ca inter /CN=x $k8s $server
    cat constrained-ca.pem >>"$name.pem"
}
constrained critical 'critical,excluded;DNS:svc'
constrained ignored 'excluded;DNS:svc'

# Certificates of exactly 8192 and 8193 bytes: a last name is made as long as it takes.
names=$k8s,DNS:$(seq -s ,DNS: -f '%040.0f.default.svc' 1 136)
sized() {
    leaf "$1" rsa rsa-ca rsa-ca /CN=x "$names,DNS:$(printf '%0*d' "$3" 0)" $server
    size=$(openssl x509 -in "$1.pem" -outform DER | wc -c)
    [ "$size" = "$2" ] || leaf "$1" rsa rsa-ca rsa-ca /CN=x "$names,DNS:$(printf '%0*d' $(($3 + $2 - size)) 0)" $server
}
sized limit 8192 90
sized past-limit 8193 90

# Clients, and the forms that keys come in.
leaf client-ec ec ca ca /O=system:masters/CN=admin extendedKeyUsage=clientAuth
leaf client-p384 ec384 ca ca /CN=admin extendedKeyUsage=clientAuth
leaf rsa4096 rsa4096 ca ca /CN=admin extendedKeyUsage=clientAuth
leaf client-rsa rsa ca ca /CN=admin extendedKeyUsage=clientAuth
openssl pkcs8 -topk8 -nocrypt -in ec.key -out ec.pkcs8.key
openssl ecparam -name prime256v1 -genkey -out ec.parameters.key
openssl req -x509 -key ec.parameters.key -subj /CN=admin -out ec.parameters.pem
openssl pkcs8 -topk8 -nocrypt -in rsa.key -out rsa.pkcs8.key
openssl pkcs8 -topk8 -passout pass:x -in ec.key -out encrypted.key
openssl ec -aes128 -passout pass:x -in ec.key -out encrypted-old.key
cd - >/dev/null
mv -T "$dir" "$out" || [ -d "$out" ]
