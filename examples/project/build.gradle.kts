// To copy: the same project as pom.xml for Gradle. A test compares the coordinates of both; Gradle itself was not run on it.
plugins {
    application
}

repositories {
    mavenLocal() // until there is a release: mvn -Dmaven.test.skip=true -pl djl -am install
    mavenCentral()
}

val platform = "linux-x86_64" // or linux-aarch64, osx-aarch64, win-x86_64

dependencies {
    implementation("hypertransfer:hypertransfer-djl:0.1.0-SNAPSHOT")
    runtimeOnly("ai.djl.pytorch:pytorch-engine:0.35.1")
    runtimeOnly("ai.djl.pytorch:pytorch-jni:2.7.1-0.35.1")
    runtimeOnly("ai.djl.pytorch:pytorch-native-cpu:2.7.1:$platform")
}

tasks.compileJava {
    options.release = 21
}

application {
    mainClass = "yours.Main"
    applicationDefaultJvmArgs = listOf("--enable-native-access=ALL-UNNAMED")
}
